// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/host_ports.h"

#include <arpa/inet.h>

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "control/topology_file/diagnostic.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

constexpr uint32_t kUsualMtu = 1500;

absl::Status NoPrefix(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", Quotable(text), "\" is not an address (such as 10.77.0.1/24 or fd00::1/64)"));
}

// The bit at `index`, counted from the left.
bool BitOf(const IpPrefix& prefix, int index) {
  return (prefix.bytes[index / 8] >> (7 - index % 8) & 1) != 0;
}

}  // namespace

bool IpPrefix::Contains(const IpPrefix& address) const {
  if (address.family != family) return false;
  for (int bit = 0; bit < length; ++bit) {
    if (BitOf(*this, bit) != BitOf(address, bit)) return false;
  }
  return true;
}

bool IpPrefix::has_host_bits() const {
  for (int bit = length; bit < bits(); ++bit) {
    if (BitOf(*this, bit)) return true;
  }
  return false;
}

absl::StatusOr<IpPrefix> ParseIpPrefix(absl::string_view text) {
  IpPrefix prefix;
  const size_t slash = text.find('/');
  const std::string address(text.substr(0, slash));
  // inet_pton() would stop at a NUL.
  if (address.find('\0') != std::string::npos) return NoPrefix(text);
  prefix.family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  if (inet_pton(prefix.family, address.c_str(), prefix.bytes.data()) != 1) return NoPrefix(text);
  prefix.length = prefix.bits();
  if (slash == absl::string_view::npos) return prefix;
  const absl::string_view length = text.substr(slash + 1);
  const bool digits = !length.empty() && length.size() <= 3 &&
                      std::all_of(length.begin(), length.end(), absl::ascii_isdigit);
  // libnl, which gives interfaces their addresses, would read "024" as an octal number.
  const bool octal = length.size() > 1 && length[0] == '0';
  if (!digits || octal || !absl::SimpleAtoi(length, &prefix.length)) return NoPrefix(text);
  if (prefix.length > prefix.bits()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", Quotable(text), "\" has a prefix of ",
                                                   prefix.length, " bits (allowed: 0 to ",
                                                   prefix.bits(), ")"));
  }
  return prefix;
}

std::string HostInterface(const v1::Host& host) {
  return host.interface().empty() ? "eth0" : host.interface();
}

std::string PortInterface(const v1::Host& host) {
  if (!host.port_interface().empty()) return host.port_interface();
  const absl::StatusOr<std::vector<Range>> rows = ParseRanges(host.rows());
  if (!rows.ok() || rows->empty()) return "";
  return absl::StrCat("bf", rows->front().first);
}

uint32_t HostMtu(const v1::Host& host, const v1::Topology& topology) {
  if (host.mtu() != 0) return host.mtu();
  const uint32_t longest = topology.max_frame_bytes();
  return longest < kEthernetHeader ? kUsualMtu : std::min(kUsualMtu, longest - kEthernetHeader);
}

v1::HostPort PortOf(const v1::Host& host, const std::string& data_plane) {
  v1::HostPort port;
  port.set_name(host.name());
  port.set_rows(host.rows());
  port.set_queue_pairs(host.queue_pairs());
  port.set_data_plane(data_plane);
  if (host.kind() == v1::Host::MACHINE) {
    if (host.vhost_socket().empty()) return port;
    port.set_device(
        absl::StrCat("net_vhost,iface=", host.vhost_socket(), ",queues=", host.queue_pairs()));
  } else if (host.kind() != v1::Host::INTERFACE || !host.port_interface().empty()) {
    const std::string interface = PortInterface(host);
    if (!interface.empty()) port.set_device(absl::StrCat("net_af_xdp,iface=", interface));
  }
  return port;
}

void AddHostPorts(v1::Topology* topology) {
  if (topology->data_planes_size() != 1) return;
  std::set<std::string> names;
  for (const v1::HostPort& port : topology->ports()) names.insert(port.name());
  for (const v1::Host& host : topology->hosts()) {
    v1::HostPort port = PortOf(host, topology->data_planes(0).name());
    if (port.device().empty() || !names.insert(port.name()).second) continue;
    *topology->add_ports() = std::move(port);
  }
}

std::vector<std::string> PortFields(const v1::Topology& topology) {
  std::map<std::string, int> hosts;
  for (int i = 0; i < topology.hosts_size(); ++i) hosts.emplace(topology.hosts(i).name(), i);
  std::vector<std::string> fields;
  for (int i = 0; i < topology.ports_size(); ++i) {
    const auto host = hosts.find(topology.ports(i).name());
    fields.push_back(host == hosts.end() ? absl::StrCat("ports[", i, "]")
                                         : absl::StrCat("hosts[", host->second, "]"));
  }
  return fields;
}

}  // namespace bfly::control
