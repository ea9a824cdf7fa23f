// SPDX-License-Identifier: Apache-2.0
// Decides which devices a data plane opens for clients that load fabrics. A device string reaches
// DPDK with the rights of this process: "net_pcap0,tx_pcap=/etc/passwd" would write there, and
// "net_failsafe0,exec(...)" would run a program.
//
// A device must use a driver and arguments of the list in device_policy.cc. It may name only the
// files and sockets that the process was given when it started; clients cannot add any.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/core/config.h"

namespace bfly::dataplane {

class DevicePolicy {
 public:
  // Allows every file directly in the directory. Links in `path` are resolved now.
  void AllowDirectory(const std::string& path);
  void AllowFile(const std::string& path);

  // InvalidArgument, after `field`: the driver is not in the list, does not take the argument, or
  // the file is not allowed. A link counts as the file to which it leads, unless other users may
  // change the link. A path with "..", or into a directory that does not exist, is not allowed.
  absl::Status Check(const std::string& field, const std::string& device) const;
  // Checks the devices of all ports and trunks.
  std::vector<absl::Status> Check(const FabricConfig& config) const;

 private:
  absl::Status CheckFile(const std::string& path) const;

  std::vector<std::string> directories_;
  std::vector<std::string> files_;
};

// The files and sockets that devices name, as absolute paths. The author of the topology file wants
// them to be used.
std::vector<std::string> DeviceFiles(const std::string& device);
std::vector<std::string> DeviceFiles(const FabricConfig& config);

}  // namespace bfly::dataplane
