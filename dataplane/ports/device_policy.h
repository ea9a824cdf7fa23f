// SPDX-License-Identifier: Apache-2.0
// Which devices a data plane opens for those who load fabrics. A device string reaches DPDK with
// the rights of this process, so that "net_pcap0,tx_pcap=/etc/passwd" would write there and
// "net_failsafe0,exec(...)" would run a program.
//
// Drivers and their arguments are those of a list (device_policy.cc). Files and sockets that
// arguments name are those that the process was told when it started; clients cannot add any.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/core/config.h"

namespace bfly::dataplane {

class DevicePolicy {
 public:
  // Everything directly in it, not below it. Links are followed now.
  void AllowDirectory(const std::string& path);
  void AllowFile(const std::string& path);

  // InvalidArgument, after `field`: no driver of the list, an argument that the driver does not
  // take, or a file that is not allowed. What a link leads to counts, not where the link is.
  absl::Status Check(const std::string& field, const std::string& device) const;
  // Of all ports and trunks.
  std::vector<absl::Status> Check(const FabricConfig& config) const;

 private:
  absl::Status CheckFile(const std::string& path) const;

  std::vector<std::string> directories_;
  std::vector<std::string> files_;
};

// The files and sockets that devices name, as absolute paths: what whoever wrote the topology file
// wants to be used.
std::vector<std::string> DeviceFiles(const std::string& device);
std::vector<std::string> DeviceFiles(const FabricConfig& config);

}  // namespace bfly::dataplane
