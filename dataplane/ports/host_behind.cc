// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/host_behind.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <rte_ethdev.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "dataplane/runtime/device_string.h"
#include "dataplane/runtime/owned_fd.h"

namespace bfly::dataplane {
namespace {

constexpr time_t kAnswerSeconds = 1;  // the kernel answers at once
constexpr uint32_t kRoom = 64;        // for the attributes of a request

struct Interface {
  MacAddress mac = 0;
  bool veth = false;
  bool in_a_bridge = false;
  int other_end = 0;                   // index of the veth's other end, 0: none
  std::optional<int32_t> other_netns;  // namespace of the other end, if it is not in this one
};

struct Request {
  nlmsghdr header{};
  ifinfomsg interface {};
  alignas(4) char attributes[kRoom] = {};
};

const rtattr* FirstAttribute(const nlmsghdr* message) {
  return reinterpret_cast<const rtattr*>(reinterpret_cast<const char*>(message) +
                                         NLMSG_SPACE(sizeof(ifinfomsg)));
}

template <typename T>
T Value(const rtattr* attribute) {
  T value{};
  std::memcpy(&value, RTA_DATA(attribute), std::min(sizeof(T), size_t{RTA_PAYLOAD(attribute)}));
  return value;
}

void ReadKind(const rtattr* info, Interface& out) {
  int left = static_cast<int>(RTA_PAYLOAD(info));
  for (auto* a = static_cast<const rtattr*>(RTA_DATA(info)); RTA_OK(a, left);
       a = RTA_NEXT(a, left)) {
    if (a->rta_type == IFLA_INFO_KIND) {
      out.veth = absl::StartsWith(static_cast<const char*>(RTA_DATA(a)), "veth");
    }
  }
}

Interface Read(const nlmsghdr* message) {
  Interface out;
  int left =
      static_cast<int>(message->nlmsg_len) - static_cast<int>(NLMSG_SPACE(sizeof(ifinfomsg)));
  for (const rtattr* a = FirstAttribute(message); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
    switch (a->rta_type & NLA_TYPE_MASK) {
      case IFLA_ADDRESS:
        if (RTA_PAYLOAD(a) == 6) out.mac = LoadMac(static_cast<const uint8_t*>(RTA_DATA(a)));
        break;
      case IFLA_MASTER:
        out.in_a_bridge = true;
        break;
      case IFLA_LINK:
        out.other_end = Value<int>(a);
        break;
      case IFLA_LINK_NETNSID:
        out.other_netns = Value<int32_t>(a);
        break;
      case IFLA_LINKINFO:
        ReadKind(a, out);
        break;
      default:
        break;
    }
  }
  return out;
}

// Asks the kernel for the interface with this index, here or in the namespace that the kernel calls
// `netns`.
std::optional<Interface> Ask(int index, std::optional<int32_t> netns) {
  const OwnedFd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const timeval patience = {.tv_sec = kAnswerSeconds, .tv_usec = 0};
  setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  Request request;
  request.header.nlmsg_type = RTM_GETLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof(ifinfomsg));
  request.interface.ifi_index = index;
  if (netns.has_value()) {
    auto* const attribute = reinterpret_cast<rtattr*>(request.attributes);
    attribute->rta_type = IFLA_TARGET_NETNSID;
    attribute->rta_len = RTA_LENGTH(sizeof(*netns));
    std::memcpy(RTA_DATA(attribute), &*netns, sizeof(*netns));
    request.header.nlmsg_len = NLMSG_SPACE(sizeof(ifinfomsg)) + RTA_SPACE(sizeof(*netns));
  }
  if (send(netlink.get(), &request, request.header.nlmsg_len, 0) < 0) return std::nullopt;
  alignas(nlmsghdr) std::array<char, 16384> answer;
  const ssize_t size = recv(netlink.get(), answer.data(), answer.size(), 0);
  const auto* const message = reinterpret_cast<const nlmsghdr*>(answer.data());
  if (size < 0 || !NLMSG_OK(message, static_cast<size_t>(size)) ||
      message->nlmsg_type != RTM_NEWLINK) {
    return std::nullopt;
  }
  return Read(message);
}

MacAddress OtherEndOf(const std::string& interface) {
  const int index = static_cast<int>(if_nametoindex(interface.c_str()));
  if (index == 0) return 0;
  const std::optional<Interface> here = Ask(index, std::nullopt);
  if (!here.has_value() || !here->veth || here->other_end == 0) return 0;
  const std::optional<Interface> there = Ask(here->other_end, here->other_netns);
  return there.has_value() && !there->in_a_bridge ? there->mac : 0;
}

bool IsTap(const std::string& device) { return absl::StartsWith(device, "net_tap"); }

}  // namespace

MacAddress HostBehind(const std::string& device, uint16_t ethdev) {
  if (IsTap(device)) {
    rte_ether_addr own{};
    return rte_eth_macaddr_get(ethdev, &own) == 0 ? LoadMac(own.addr_bytes) : 0;
  }
  const std::optional<std::string> interface = DeviceArgument(device, "iface");
  return LeadsToAKernel(device) && interface.has_value() ? OtherEndOf(*interface) : 0;
}

bool LeadsToAKernel(const std::string& device) {
  return absl::StartsWith(device, "net_af_xdp") || absl::StartsWith(device, "net_af_packet") ||
         IsTap(device);
}

}  // namespace bfly::dataplane
