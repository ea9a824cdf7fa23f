// SPDX-License-Identifier: Apache-2.0
#include "control/lab/interfaces.h"

#include <linux/if_addr.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

#include <cerrno>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

template <auto kRelease>
struct Release {
  template <typename T>
  void operator()(T* value) const {
    kRelease(value);
  }
};
using Link = std::unique_ptr<rtnl_link, Release<rtnl_link_put>>;
using Veth = std::unique_ptr<rtnl_link, Release<rtnl_link_veth_release>>;
using InterfaceAddress = std::unique_ptr<rtnl_addr, Release<rtnl_addr_put>>;
using Address = std::unique_ptr<nl_addr, Release<nl_addr_put>>;
using Route = std::unique_ptr<rtnl_route, Release<rtnl_route_put>>;

absl::Status ToStatus(int error, const std::string& what) {
  if (error >= 0) return absl::OkStatus();
  const std::string message = absl::StrCat(what, ": ", nl_geterror(error));
  switch (-error) {
    case NLE_EXIST:
      return absl::AlreadyExistsError(message);
    case NLE_PERM:
      return absl::PermissionDeniedError(message);
    case NLE_OBJ_NOTFOUND:
    case NLE_NODEV:
      return absl::NotFoundError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::StatusOr<Address> ParseAddress(const std::string& text, int family) {
  nl_addr* address = nullptr;
  const int error = nl_addr_parse(text.c_str(), family, &address);
  if (error < 0) return ToStatus(error, text);
  return Address(address);
}

absl::Status Describe(rtnl_link* link, const VethEnd& end, uint32_t mtu, uint32_t queues) {
  const absl::StatusOr<Address> mac = ParseAddress(end.mac, AF_LLC);
  if (!mac.ok()) return mac.status();
  rtnl_link_set_name(link, end.interface.c_str());
  rtnl_link_set_addr(link, mac->get());
  rtnl_link_set_mtu(link, mtu);
  rtnl_link_set_num_tx_queues(link, queues);
  rtnl_link_set_num_rx_queues(link, queues);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Interfaces> Interfaces::Of(const NetNamespace& where) {
  Interfaces links(nl_socket_alloc());
  if (links.socket_ == nullptr) return absl::ResourceExhaustedError("no memory for netlink");
  // A socket belongs to the namespace in which it was opened.
  const absl::Status opened = where.Run(
      [&] { return ToStatus(nl_connect(links.socket_, NETLINK_ROUTE), "cannot open netlink"); });
  if (!opened.ok()) return opened;
  return links;
}

Interfaces::~Interfaces() {
  if (socket_ != nullptr) nl_socket_free(socket_);
}

absl::Status Interfaces::MakeVeth(const VethEnd& here, const VethEnd& there,
                                  const NetNamespace& other, uint32_t mtu, uint32_t queues) {
  const Veth pair(rtnl_link_veth_alloc());
  if (pair == nullptr) return absl::ResourceExhaustedError("no memory for a veth pair");
  const Link peer(rtnl_link_veth_get_peer(pair.get()));
  if (absl::Status status = Describe(pair.get(), here, mtu, queues); !status.ok()) return status;
  if (absl::Status status = Describe(peer.get(), there, mtu, queues); !status.ok()) return status;
  rtnl_link_set_ns_fd(peer.get(), other.descriptor());
  return ToStatus(
      rtnl_link_add(socket_, pair.get(), NLM_F_CREATE | NLM_F_EXCL),
      absl::StrCat("cannot make the veth pair ", here.interface, ", ", there.interface));
}

absl::StatusOr<std::optional<Interfaces::Found>> Interfaces::Find(const std::string& interface) {
  rtnl_link* found = nullptr;
  const int error = rtnl_link_get_kernel(socket_, 0, interface.c_str(), &found);
  if (error == -NLE_NODEV || error == -NLE_OBJ_NOTFOUND) return std::nullopt;
  if (error < 0) return ToStatus(error, "cannot ask for interface " + interface);
  const Link link(found);
  Found result{.index = rtnl_link_get_ifindex(found),
               .mac = "",
               .mtu = rtnl_link_get_mtu(found),
               .up = (rtnl_link_get_flags(found) & IFF_UP) != 0};
  char text[32] = "";
  if (nl_addr* mac = rtnl_link_get_addr(found); mac != nullptr) {
    result.mac = nl_addr2str(mac, text, sizeof(text));
  }
  return result;
}

absl::Status Interfaces::SetUp(int index) {
  const Link now(rtnl_link_alloc()), change(rtnl_link_alloc());
  if (now == nullptr || change == nullptr) return absl::ResourceExhaustedError("no memory");
  rtnl_link_set_ifindex(now.get(), index);
  rtnl_link_set_flags(change.get(), IFF_UP);
  return ToStatus(rtnl_link_change(socket_, now.get(), change.get(), 0),
                  absl::StrCat("cannot set interface ", index, " up"));
}

absl::Status Interfaces::AddAddress(int index, const std::string& address) {
  const absl::StatusOr<Address> local = ParseAddress(address, AF_UNSPEC);
  if (!local.ok()) return local.status();
  const InterfaceAddress own(rtnl_addr_alloc());
  if (own == nullptr) return absl::ResourceExhaustedError("no memory for an address");
  rtnl_addr_set_ifindex(own.get(), index);
  if (const int error = rtnl_addr_set_local(own.get(), local->get()); error < 0) {
    return ToStatus(error, address);
  }
  // Without it an IPv6 address could not be used for about a second, while Linux looks for another
  // host that has it.
  if (nl_addr_get_family(local->get()) == AF_INET6) rtnl_addr_set_flags(own.get(), IFA_F_NODAD);
  return ToStatus(rtnl_addr_add(socket_, own.get(), NLM_F_EXCL), "cannot add address " + address);
}

absl::Status Interfaces::AddRoute(int index, const std::string& to, const std::string& via) {
  const std::string what =
      absl::StrCat("cannot add the route to ", to, via.empty() ? "" : " via ", via);
  Address gateway;
  int family = AF_UNSPEC;
  if (!via.empty()) {
    absl::StatusOr<Address> parsed = ParseAddress(via, AF_UNSPEC);
    if (!parsed.ok()) return parsed.status();
    gateway = *std::move(parsed);
    family = nl_addr_get_family(gateway.get());
  }
  const absl::StatusOr<Address> prefix = ParseAddress(to, family);
  if (!prefix.ok()) return prefix.status();
  const Route route(rtnl_route_alloc());
  rtnl_nexthop* hop = rtnl_route_nh_alloc();
  if (route == nullptr || hop == nullptr) return absl::ResourceExhaustedError("no memory: " + to);
  rtnl_route_nh_set_ifindex(hop, index);
  if (gateway != nullptr) rtnl_route_nh_set_gateway(hop, gateway.get());
  rtnl_route_add_nexthop(route.get(), hop);  // which owns it from here on
  rtnl_route_set_protocol(route.get(), RTPROT_STATIC);
  if (const int error = rtnl_route_set_dst(route.get(), prefix->get()); error < 0) {
    return ToStatus(error, what);
  }
  rtnl_route_set_scope(route.get(), gateway != nullptr ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK);
  return ToStatus(rtnl_route_add(socket_, route.get(), NLM_F_EXCL), what);
}

absl::Status Interfaces::Remove(int index) {
  const Link link(rtnl_link_alloc());
  if (link == nullptr) return absl::ResourceExhaustedError("no memory for a link");
  rtnl_link_set_ifindex(link.get(), index);
  return ToStatus(rtnl_link_delete(socket_, link.get()),
                  absl::StrCat("cannot remove interface ", index));
}

absl::StatusOr<std::optional<Interfaces::Found>> FindIn(const NetNamespace& where,
                                                        const std::string& interface) {
  absl::StatusOr<Interfaces> interfaces = Interfaces::Of(where);
  if (!interfaces.ok()) return interfaces.status();
  return interfaces->Find(interface);
}

absl::Status SwitchIpv6Off(const NetNamespace& where, const std::string& interface) {
  // /proc/sys/net shows the namespace of the thread that looks.
  return where.Run([&] {
    const std::string folder = "/proc/sys/net/ipv6/conf/" + interface;
    std::ofstream file(folder + "/disable_ipv6");
    if (!file) return absl::OkStatus();
    file << "1" << std::flush;
    return file ? absl::OkStatus()
                : absl::InternalError("cannot switch IPv6 off on interface " + interface);
  });
}

}  // namespace bfly::control
