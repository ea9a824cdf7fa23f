// SPDX-License-Identifier: Apache-2.0
// The hosts section of a topology: what its texts mean, and the ports that follow from it. Pure
// functions.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bfly/v1/topology.pb.h"

namespace bfly::control {

// The longest name that Linux gives an interface, without the NUL.
inline constexpr size_t kLongestInterface = 15;
// Ethernet header, without a VLAN tag and without FCS.
inline constexpr uint32_t kEthernetHeader = 14;

// "10.77.0.1/24" or "fd00::1/64".
struct IpPrefix {
  int family = AF_INET;
  std::array<uint8_t, 16> bytes = {};  // network byte order; IPv4 takes the first four
  int length = 0;
  int bits() const { return family == AF_INET ? 32 : 128; }
  bool Contains(const IpPrefix& address) const;
  bool has_host_bits() const;  // some bit behind the prefix is 1
  friend bool operator==(const IpPrefix&, const IpPrefix&) = default;
};

// An address without a length gets all its bits. InvalidArgument quotes the text.
absl::StatusOr<IpPrefix> ParseIpPrefix(absl::string_view text);

// The interface in the host's namespace: "eth0" unless the file names another.
std::string HostInterface(const v1::Host& host);
// The interface that is the port: "bf" and the first row unless the file names another. Empty if
// the rows are wrong.
std::string PortInterface(const v1::Host& host);
// The MTU of the host's interface, where the file may leave it out.
uint32_t HostMtu(const v1::Host& host, const v1::Topology& topology);

// Adds the port of every host that has none. Hosts whose device is not known yet, because something
// is wrong or missing, get none.
void AddHostPorts(v1::Topology* topology);

// By index of a port: where a file describes it, "ports[2]" or "hosts[0]".
std::vector<std::string> PortFields(const v1::Topology& topology);

// The port that follows from the host, apart from translate_mac. Its device is empty if something
// is wrong or missing.
v1::HostPort PortOf(const v1::Host& host, const std::string& data_plane);

}  // namespace bfly::control
