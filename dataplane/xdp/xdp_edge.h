// SPDX-License-Identifier: Apache-2.0
// bfly's XDP program on the kernel interface of one net_af_xdp port, from before DPDK probes the
// port until the port is closed.
//
//   auto edge = XdpEdge::Prepare(port.device);     // makes the interface free, adds the program
//   rte_eth_dev ... probe (*edge)->device(), set up queues: the driver attaches the program
//   (*edge)->Start(rules);                          // from now on frames reach the fabric
//   (*edge)->counters();
//   ... rte_eth_dev_close, then the edge is destroyed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/xdp/attached_program.h"
#include "dataplane/xdp/edge_maps.h"

namespace bfly::dataplane {

class XdpEdge {
 public:
  // True if this device string gets the program: a net_af_xdp device, unless the user names
  // another program by xdp_prog=.
  static bool Wanted(absl::string_view device);

  // Brings the interface up and removes a program that a dead bfly data plane left on it.
  // InvalidArgument: there is no such interface. FailedPrecondition: the interface has the program
  // of a living data plane, or an XDP program that is not bfly's; the message says what to do.
  static absl::StatusOr<std::unique_ptr<XdpEdge>> Prepare(absl::string_view device);

  ~XdpEdge();
  XdpEdge(const XdpEdge&) = delete;
  XdpEdge& operator=(const XdpEdge&) = delete;

  // The device string to probe instead of the one given to Prepare. Valid while this object lives.
  const std::string& device() const { return device_; }
  const std::string& interface() const { return interface_; }

  // Call it after the queues of the port are set up, which is when the driver attaches the program.
  // Until then every frame passes to the kernel.
  absl::Status Start(const EdgeRules& rules);

  // Takes the program off the interface: every frame passes to the kernel again. The counters can
  // still be read. Returns false if the program was not attached, or if it could not be taken off.
  bool Stop();

  // Any thread. Fails before Start.
  absl::StatusOr<XdpCounters> counters() const;

 private:
  XdpEdge(std::string interface, int index, OwnedFd object, std::string device);

  std::string interface_;
  int index_;
  OwnedFd object_;  // the program as an ELF file in memory, because the driver needs a path
  std::string device_;
  AttachedProgram program_;
  std::optional<EdgeMaps> maps_;
};

}  // namespace bfly::dataplane
