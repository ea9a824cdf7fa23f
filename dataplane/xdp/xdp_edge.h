// SPDX-License-Identifier: Apache-2.0
// bfly's XDP program on the kernel interface of one net_af_xdp port, from before the probe to the
// close.
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
#include "dataplane/xdp/edge_maps.h"

namespace bfly::dataplane {

class XdpEdge {
 public:
  // Whether this device string gets the program: net_af_xdp, unless the user brings one by
  // xdp_prog=.
  static bool Wanted(absl::string_view device);

  // Brings the interface up and takes a program of bfly's off it that a dead data plane left
  // behind. InvalidArgument: no such interface; FailedPrecondition: a living data plane or someone
  // else's XDP program has it. Says what to do.
  static absl::StatusOr<std::unique_ptr<XdpEdge>> Prepare(absl::string_view device);

  ~XdpEdge();
  XdpEdge(const XdpEdge&) = delete;
  XdpEdge& operator=(const XdpEdge&) = delete;

  // What to probe instead of the device string given to Prepare. Good while this object lives.
  const std::string& device() const { return device_; }
  const std::string& interface() const { return interface_; }

  // After the queues of the port are set up, which is when the driver attaches the program. Until
  // then every frame passes to the kernel.
  absl::Status Start(const EdgeRules& rules);

  // Any thread. Fails before Start.
  absl::StatusOr<XdpCounters> counters() const;

 private:
  XdpEdge(std::string interface, int index, OwnedFd object, std::string device);

  std::string interface_;
  int index_;
  OwnedFd object_;  // the program as an ELF file in memory: the driver wants a path
  std::string device_;
  uint32_t program_id_ = 0;
  std::optional<EdgeMaps> maps_;
};

}  // namespace bfly::dataplane
