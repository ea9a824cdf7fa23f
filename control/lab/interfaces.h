// SPDX-License-Identifier: Apache-2.0
// Interfaces of one network namespace, by netlink (libnl-route). Every call is one message to the
// kernel, which does all of it or nothing, also if this process is killed meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/lab/net_namespace.h"

struct nl_sock;

namespace bfly::control {

// What one end of a veth pair is made with.
struct VethEnd {
  std::string interface;
  std::string mac;  // "02:bf:00:00:00:03"
};

class Interfaces {
 public:
  struct Found {
    int index = 0;
    std::string mac;
    uint32_t mtu = 0;
    bool up = false;
  };

  static absl::StatusOr<Interfaces> Of(const NetNamespace& where);
  Interfaces(Interfaces&& other) noexcept : socket_(other.socket_) { other.socket_ = nullptr; }
  Interfaces& operator=(Interfaces&&) = delete;
  ~Interfaces();

  // A veth pair, both ends down: `here` in this namespace and `there` in the other one.
  // AlreadyExists: one of the names is taken.
  absl::Status MakeVeth(const VethEnd& here, const VethEnd& there, const NetNamespace& other,
                        uint32_t mtu, uint32_t queues);
  absl::StatusOr<std::optional<Found>> Find(const std::string& interface);
  absl::Status SetUp(int index);
  // "10.77.0.1/24".
  absl::Status AddAddress(int index, const std::string& address);
  // `to` is a prefix or "default"; without `via` the destinations are on the link.
  absl::Status AddRoute(int index, const std::string& to, const std::string& via);
  // Removing one end of a veth pair removes both.
  absl::Status Remove(int index);

 private:
  explicit Interfaces(nl_sock* socket) : socket_(socket) {}
  nl_sock* socket_;
};

// The interface of this name in the namespace, if there is one.
absl::StatusOr<std::optional<Interfaces::Found>> FindIn(const NetNamespace& where,
                                                        const std::string& interface);

// Switches IPv6 off on an interface of the namespace, so that Linux sends nothing by itself. OK
// where there is no IPv6.
absl::Status SwitchIpv6Off(const NetNamespace& where, const std::string& interface);

}  // namespace bfly::control
