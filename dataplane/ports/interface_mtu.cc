// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/interface_mtu.h"

#include <net/if.h>
#include <rte_ethdev.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "absl/strings/string_view.h"
#include "dataplane/runtime/owned_fd.h"

namespace bfly::dataplane {
namespace {

// Asks the kernel with an ioctl that takes an interface's name and MTU.
bool MtuRequest(unsigned long what, uint32_t interface, ifreq& request) {
  if (if_indextoname(interface, request.ifr_name) == nullptr) return false;
  const OwnedFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return ioctl(fd.get(), what, &request) == 0;
}

}  // namespace

uint32_t InterfaceMtu(const rte_eth_dev_info& info) {
  const absl::string_view driver = info.driver_name != nullptr ? info.driver_name : "";
  ifreq request{};
  if ((driver != "net_af_xdp" && driver != "net_af_packet") ||
      !MtuRequest(SIOCGIFMTU, info.if_index, request)) {
    return UINT32_MAX;
  }
  return static_cast<uint32_t>(request.ifr_mtu);
}

bool SetInterfaceMtu(uint32_t interface, uint32_t mtu) {
  ifreq request{};
  request.ifr_mtu = static_cast<int>(mtu);
  return MtuRequest(SIOCSIFMTU, interface, request);
}

}  // namespace bfly::dataplane
