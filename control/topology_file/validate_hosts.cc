// SPDX-License-Identifier: Apache-2.0
// Checks hosts: names, what belongs to which kind, interfaces, addresses and routes. Their rows and
// devices are checked with the ports that follow from them.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/topology_file/host_ports.h"
#include "control/topology_file/ranges.h"
#include "control/topology_file/schema.h"
#include "control/topology_file/to_fabric_config.h"
#include "control/topology_file/validate_parts.h"

namespace bfly::control::validation {
namespace {

// The namespace that `bfly lab up` makes for the data plane is called LAB-fabric.
constexpr char kReservedName[] = "fabric";
constexpr int kMostAddresses = 64;
constexpr int kMostRoutes = 256;
constexpr size_t kLongestSocketPath = 107;  // sun_path, with its NUL
constexpr uint32_t kLeastIpv6Mtu = 1280;

bool IsInterfaceName(absl::string_view name) {
  return name.size() <= kLongestInterface && absl::ascii_isalnum(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
         });
}

bool IsSocketPath(absl::string_view path) {
  return path.size() <= kLongestSocketPath && path[0] == '/' &&
         std::none_of(path.begin(), path.end(),
                      [](char c) { return absl::ascii_iscntrl(c) || c == ','; });
}

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", Quotable(text), "\""); }

constexpr uint8_t kIpv4Loopback = 127;
// Longer prefixes have no addresses of the network itself and of all its hosts (RFC 3021).
constexpr int kLongestWithBroadcast = 30;

uint32_t NumberOfIpv4(const IpPrefix& address) {
  uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8 | address.bytes[i];
  return number;
}

// The last address of an IPv4 prefix is that of all its hosts.
bool IsBroadcast(const IpPrefix& address) {
  if (address.family != AF_INET || address.length > kLongestWithBroadcast) return false;
  const uint32_t host_bits = UINT32_MAX >> address.length;
  return (NumberOfIpv4(address) & host_bits) == host_bits;
}

// The first address of an IPv4 prefix is that of the network.
bool IsFirstOrLast(const IpPrefix& address) {
  if (address.length > kLongestWithBroadcast) return false;
  return (NumberOfIpv4(address) & UINT32_MAX >> address.length) == 0 || IsBroadcast(address);
}

// An address that a host may have.
bool IsHostAddress(const IpPrefix& address) {
  if (address.length == 0) return false;
  if (address.family == AF_INET) {
    return address.bytes[0] != 0 && address.bytes[0] != kIpv4Loopback && address.bytes[0] < 224 &&
           !IsFirstOrLast(address);
  }
  IpPrefix special{.family = AF_INET6, .bytes = {}, .length = address.length};
  const bool unspecified = address == special;
  special.bytes.back() = 1;  // ::1, the loopback address
  return address.bytes[0] != 0xff && !unspecified && address != special;
}

// What a route leads to: family, bytes and length of the prefix.
using Destination = std::tuple<int, std::array<uint8_t, 16>, int>;

// The prefix of an address.
Destination DestinationOf(const IpPrefix& prefix) {
  std::array<uint8_t, 16> bytes = prefix.bytes;
  for (int bit = prefix.length; bit < prefix.bits(); ++bit) {
    bytes[bit / 8] &= static_cast<uint8_t>(~(0x80 >> bit % 8));
  }
  return {prefix.family, bytes, prefix.length};
}

class HostCheck {
 public:
  explicit HostCheck(Context& context) : context_(context) {
    for (int i = 0; i < context.topology.ports_size(); ++i) {
      ports_.emplace(context.topology.ports(i).name(), i);
    }
    const v1::Addressing& addressing = context.topology.addressing();
    if (addressing.mode() != v1::Addressing::IPV4_PREFIX || !context.network) return;
    const absl::StatusOr<Ipv4Block> block = ParseIpv4Block(addressing.ipv4_prefix());
    if (block.ok()) block_ = *block;
  }

  void Check(int index) {
    const v1::Host& host = context_.topology.hosts(index);
    at_ = absl::StrCat("hosts[", index, "].");
    CheckHostName(host);
    CheckKind(host);
    CheckInterfaces(host);
    CheckMtu(host);
    const std::vector<IpPrefix> addresses = CheckAddresses(host);
    CheckRoutes(host, addresses);
  }

 private:
  void Report(const std::string& field, absl::string_view value, std::string message) {
    context_.Report(at_ + field, Quotable(value), std::move(message));
  }

  void CheckHostName(const v1::Host& host) {
    CheckName(context_, at_ + "name", host.name());
    if (host.name() == kReservedName) {
      Report("name", host.name(),
             "\"fabric\" is the name of the data plane's network namespace; choose another");
    }
    const size_t before = context_.violations.size();
    context_.CheckUnique(names_, at_ + "name", host.name());
    if (context_.violations.size() != before || context_.topology.data_planes_size() != 1) return;
    const auto found = ports_.find(host.name());
    if (found == ports_.end()) return;
    const v1::HostPort& port = context_.topology.ports(found->second);
    const v1::HostPort own = PortOf(host, context_.topology.data_planes(0).name());
    if (own.device().empty() || (port.device() == own.device() && port.rows() == own.rows() &&
                                 port.queue_pairs() == own.queue_pairs())) {
      return;
    }
    Report("name", host.name(),
           absl::StrCat(Quoted(host.name()), " is taken by ports[", found->second,
                        "]; a host has a port of its name, which follows from the host"));
  }

  void NeedsKind(const std::string& field, absl::string_view value, const std::string& kinds) {
    if (value.empty()) return;
    Report(field, value, absl::StrCat("has no effect on this kind of host; only ", kinds));
  }

  void CheckKind(const v1::Host& host) {
    const v1::Host::Kind kind = host.kind();
    const bool made = kind == v1::Host::NAMESPACE || kind == v1::Host::CONTAINER;
    const std::string pid = host.pid() == 0 ? "" : absl::StrCat(host.pid());
    if (kind != v1::Host::CONTAINER) {
      NeedsKind("pid", pid, "a container has one");
    } else if (pid.empty()) {
      Report("pid", "", "is missing, a container has one (allowed: 1 to 4194304)");
    }
    if (kind != v1::Host::MACHINE) {
      NeedsKind("vhost_socket", host.vhost_socket(), "a machine has one");
    } else {
      NeedsKind("port_interface", host.port_interface(), "the others have one");
      if (host.vhost_socket().empty()) {
        Report("vhost_socket", "",
               "is missing, a machine has one (for example /run/bfly/vm0.sock)");
      } else if (!IsSocketPath(host.vhost_socket())) {
        Report("vhost_socket", host.vhost_socket(),
               absl::StrCat(Quoted(host.vhost_socket()),
                            " is not the path of a socket (allowed: an absolute path of up to ",
                            kLongestSocketPath, " characters without a comma)"));
      }
    }
    if (kind == v1::Host::INTERFACE && host.port_interface().empty()) {
      Report("port_interface", "",
             "is missing, a host of kind interface is an interface that is there already (for "
             "example eno2)");
    }
    if (made) return;
    const std::string who = "namespaces and containers have one: bfly lab up configures no others";
    NeedsKind("interface", host.interface(), who);
    NeedsKind("mtu", host.mtu() == 0 ? "" : absl::StrCat(host.mtu()), who);
    NeedsKind("addresses", host.addresses().empty() ? "" : host.addresses(0), who);
    NeedsKind("routes", host.routes().empty() ? "" : host.routes(0).to() + " ", who);
  }

  void CheckInterface(const std::string& field, const std::string& name) {
    if (name.empty() || IsInterfaceName(name)) return;
    Report(field, name,
           absl::StrCat(Quoted(name), " is not the name of an interface (allowed: up to ",
                        kLongestInterface,
                        " letters, digits, '_', '-' and '.', the first a letter or digit)"));
  }

  void CheckInterfaces(const v1::Host& host) {
    CheckInterface("interface", host.interface());
    CheckInterface("port_interface", host.port_interface());
    if (host.interface() == "lo") Report("interface", "lo", "\"lo\" is the loopback interface");
    if (host.kind() != v1::Host::CONTAINER || host.pid() == 0) return;
    const std::string interface = HostInterface(host);
    const auto [first, fresh] =
        container_interfaces_.emplace(std::make_pair(host.pid(), interface), at_ + "interface");
    if (fresh) return;
    Report("interface", interface,
           absl::StrCat(Quoted(interface), " of process ", host.pid(), " is taken by ",
                        first->second));
  }

  void CheckMtu(const v1::Host& host) {
    const uint32_t longest = context_.topology.max_frame_bytes();
    if (host.mtu() == 0 || host.mtu() + kEthernetHeader <= longest) return;
    Report("mtu", absl::StrCat(host.mtu()),
           absl::StrCat(host.mtu(), " makes frames of ", host.mtu() + kEthernetHeader,
                        " bytes, and max_frame_bytes is ", longest, " (allowed: at most ",
                        longest < kEthernetHeader ? 0 : longest - kEthernetHeader, ")"));
  }

  std::vector<IpPrefix> CheckAddresses(const v1::Host& host) {
    std::vector<IpPrefix> good;
    if (host.addresses_size() > kMostAddresses) {
      Report("addresses", absl::StrCat(host.addresses_size()),
             absl::StrCat(host.addresses_size(), " addresses (allowed: at most ", kMostAddresses,
                          ")"));
      return good;
    }
    for (int i = 0; i < host.addresses_size(); ++i) {
      const std::string& text = host.addresses(i);
      const std::string field = absl::StrCat("addresses[", i, "]");
      const absl::StatusOr<IpPrefix> address = ParseIpPrefix(text);
      if (!address.ok()) {
        Report(field, text, std::string(address.status().message()));
      } else if (text.find('/') == std::string::npos) {
        Report(field, text,
               absl::StrCat(Quoted(text), " has no prefix length (for example ", text, "/",
                            address->family == AF_INET ? 24 : 64, ")"));
      } else if (!IsHostAddress(*address)) {
        Report(field, text,
               absl::StrCat(Quoted(text),
                            " is not the address of one host with the prefix of its "
                            "neighbours (for example 10.77.0.1/24)"));
      } else {
        CheckAddress(field, host, *address);
        good.push_back(*address);
      }
    }
    return good;
  }

  void CheckAddress(const std::string& field, const v1::Host& host, const IpPrefix& address) {
    std::string bytes(address.bytes.begin(), address.bytes.end());
    const auto [first, fresh] =
        addresses_.emplace(std::make_pair(address.family, std::move(bytes)), at_ + field);
    if (!fresh) {
      Report(field, host.name(), absl::StrCat("the address is taken by ", first->second));
    }
    const uint32_t mtu = HostMtu(host, context_.topology);
    if (address.family == AF_INET6) {
      if (mtu < kLeastIpv6Mtu) {
        Report(field, "",
               absl::StrCat("IPv6 needs an MTU of at least ", kLeastIpv6Mtu,
                            ", and that of this host is ", mtu));
      }
      return;
    }
    if (!block_) return;
    const uint32_t number = NumberOfIpv4(address);
    const uint32_t row = number - block_->base;
    if (number < block_->base || row >= block_->size()) return;
    if (row >= context_.network->rows()) {
      return Report(field, "",
                    absl::StrCat("is in addressing.ipv4_prefix, but the network has rows 0..",
                                 context_.network->rows() - 1, " only"));
    }
    const auto rows = ParseRanges(host.rows());
    if (!rows.ok()) return;
    const bool own = std::any_of(rows->begin(), rows->end(), [row](const Range& range) {
      return range.first <= row && row <= range.last;
    });
    if (own) return;
    Report(field, "",
           absl::StrCat("this is the address of row ", row,
                        " by addressing.ipv4_prefix, and the "
                        "host stands at ",
                        host.rows()));
  }

  void CheckRoutes(const v1::Host& host, const std::vector<IpPrefix>& addresses) {
    if (host.routes_size() > kMostRoutes) {
      return Report(
          "routes", absl::StrCat(host.routes_size()),
          absl::StrCat(host.routes_size(), " routes (allowed: at most ", kMostRoutes, ")"));
    }
    destinations_.clear();
    for (const IpPrefix& own : addresses) {
      if (own.family != AF_INET || own.length == own.bits()) continue;
      destinations_.emplace(DestinationOf(own),
                            "is the prefix of an address of the host, and Linux makes the route to "
                            "it by itself; leave this one out");
    }
    for (int i = 0; i < host.routes_size(); ++i) {
      CheckRoute(absl::StrCat("routes[", i, "]."), host.routes(i), addresses);
    }
  }

  // Linux has one route to a prefix.
  void CheckDestination(const std::string& field, const std::string& text, const IpPrefix& to) {
    const auto [first, fresh] = destinations_.emplace(
        DestinationOf(to), absl::StrCat("is the destination of ", at_, field, " already"));
    if (!fresh) Report(field, text, absl::StrCat(Quoted(text), " ", first->second));
  }

  void CheckRoute(const std::string& at, const v1::HostRoute& route,
                  const std::vector<IpPrefix>& addresses) {
    std::optional<IpPrefix> to, via;
    if (!route.via().empty()) {
      const absl::StatusOr<IpPrefix> parsed = ParseIpPrefix(route.via());
      if (!parsed.ok() || route.via().find('/') != std::string::npos) {
        Report(at + "via", route.via(),
               absl::StrCat(Quoted(route.via()),
                            " is not the address of a next hop (for example 10.77.0.254)"));
      } else {
        via = *parsed;
      }
    }
    if (route.to() == "default") {
      if (route.via().empty()) {
        Report(at + "via", "", "is missing, a default route needs it (for example 10.77.0.254)");
      } else if (via) {
        to = IpPrefix{.family = via->family};
      }
    } else if (!route.to().empty()) {
      const absl::StatusOr<IpPrefix> parsed = ParseIpPrefix(route.to());
      if (!parsed.ok()) {
        Report(at + "to", route.to(), std::string(parsed.status().message()));
      } else if (parsed->has_host_bits()) {
        Report(at + "to", route.to(),
               absl::StrCat(Quoted(route.to()),
                            " has bits set behind its prefix (allowed: 0 "
                            "there)"));
      } else {
        to = *parsed;
      }
    }
    if (to) CheckDestination(at + "to", route.to(), *to);
    if (!via) return;
    if (to && to->family != via->family) {
      return Report(at + "via", route.via(),
                    absl::StrCat(Quoted(route.via()), " and ", Quoted(route.to()),
                                 " are not of one version of IP"));
    }
    bool near = false;
    for (const IpPrefix& own : addresses) {
      if (!own.Contains(*via)) continue;
      near = true;
      IpPrefix hop = *via;
      hop.length = own.length;
      if (IsBroadcast(hop) || (own.family == AF_INET6 && hop == own)) {
        return Report(at + "via", route.via(),
                      absl::StrCat(Quoted(route.via()),
                                   own.family == AF_INET ? " is the broadcast address of its prefix"
                                                         : " is an address of the host itself",
                                   ", so it cannot be a next hop"));
      }
    }
    if (near) return;
    Report(at + "via", route.via(),
           absl::StrCat(Quoted(route.via()),
                        " is in the prefix of none of the host's addresses, so it cannot be "
                        "reached"));
  }

  Context& context_;
  std::string at_;
  std::map<std::string, int> ports_;  // index by name
  std::optional<Ipv4Block> block_;    // the addresses of the rows
  // The fields that have them.
  std::map<std::string, std::string> names_;
  std::map<std::pair<int, std::string>, std::string> addresses_;
  std::map<std::pair<uint32_t, std::string>, std::string> container_interfaces_;
  // Of one host: what is wrong with another route there.
  std::map<Destination, std::string> destinations_;
};

}  // namespace

void CheckHosts(Context& context) {
  const v1::Topology& topology = context.topology;
  if (topology.hosts().empty()) return;
  if (topology.data_planes_size() > 1) {
    context.Report("hosts", "",
                   absl::StrCat("need one data plane, there are ", topology.data_planes_size(),
                                ": a host sends and receives at one port, and here frames enter "
                                "and leave at different data planes"));
  } else if (!topology.data_planes().empty() && !topology.data_planes(0).address().empty()) {
    context.Report("data_planes[0].address", Quotable(topology.data_planes(0).address()),
                   "hosts need a data plane that bfly starts itself; leave the address out");
  }
  HostCheck check(context);
  for (int i = 0; i < topology.hosts_size(); ++i) check.Check(i);
}

}  // namespace bfly::control::validation
