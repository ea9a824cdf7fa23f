// SPDX-License-Identifier: Apache-2.0
#include "control/lab/device_features.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "dataplane/runtime/owned_fd.h"

namespace bfly::control {
namespace {

constexpr size_t kBlockBits = 32;  // features in one block of ETHTOOL_SFEATURES

// A command of ethtool with `tail` bytes behind it, whose length the kernel knows by the command.
template <typename Command>
class EthtoolCommand {
 public:
  EthtoolCommand(uint32_t code, size_t tail)
      : words_((sizeof(Command) + tail + sizeof(uint64_t) - 1) / sizeof(uint64_t)) {
    get()->cmd = code;
  }
  Command* get() { return reinterpret_cast<Command*>(words_.data()); }
  Command* operator->() { return get(); }

 private:
  std::vector<uint64_t> words_;
};

class Device {
 public:
  explicit Device(const std::string& interface)
      : interface_(interface), socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

  // Returns what the kernel returned, 0 or above.
  absl::StatusOr<int> Ask(void* command) const {
    ifreq request = {};
    interface_.copy(request.ifr_name, sizeof(request.ifr_name) - 1);
    request.ifr_data = static_cast<char*>(command);
    const int answer = ioctl(socket_.get(), SIOCETHTOOL, &request);
    if (answer >= 0) return answer;
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot read or set the features of interface ", interface_));
  }

  // The kernel's names; the place of a name is the feature's bit.
  absl::StatusOr<std::vector<std::string>> FeatureNames() const {
    EthtoolCommand<ethtool_sset_info> sets(ETHTOOL_GSSET_INFO, sizeof(uint32_t));
    sets->sset_mask = uint64_t{1} << ETH_SS_FEATURES;
    if (const auto asked = Ask(sets.get()); !asked.ok()) return asked.status();
    const size_t count = sets->sset_mask != 0 ? sets->data[0] : 0;
    EthtoolCommand<ethtool_gstrings> strings(ETHTOOL_GSTRINGS, count * ETH_GSTRING_LEN);
    strings->string_set = ETH_SS_FEATURES;
    strings->len = static_cast<uint32_t>(count);
    if (const auto asked = Ask(strings.get()); !asked.ok()) return asked.status();
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) {
      const char* text = reinterpret_cast<const char*>(strings->data) + i * ETH_GSTRING_LEN;
      names.emplace_back(text, strnlen(text, ETH_GSTRING_LEN));
    }
    return names;
  }

 private:
  const std::string& interface_;
  const dataplane::OwnedFd socket_;
};

}  // namespace

absl::Status SwitchFeaturesOff(const NetNamespace& where, const std::string& interface,
                               std::span<const std::string_view> names) {
  // A socket belongs to the namespace in which it was opened.
  return where.Run([&]() -> absl::Status {
    const Device device(interface);
    const absl::StatusOr<std::vector<std::string>> known = device.FeatureNames();
    if (!known.ok()) return known.status();
    const size_t blocks = (known->size() + kBlockBits - 1) / kBlockBits;
    EthtoolCommand<ethtool_sfeatures> change(ETHTOOL_SFEATURES,
                                             blocks * sizeof(ethtool_set_features_block));
    change->size = static_cast<uint32_t>(blocks);
    for (size_t bit = 0; bit < known->size(); ++bit) {
      if (std::find(names.begin(), names.end(), (*known)[bit]) == names.end()) continue;
      change->features[bit / kBlockBits].valid |= uint32_t{1} << bit % kBlockBits;
    }
    const absl::StatusOr<int> changed = device.Ask(change.get());
    if (!changed.ok()) return changed.status();
    if (*changed == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("interface ", interface, " keeps features on that were to be switched off"));
  });
}

}  // namespace bfly::control
