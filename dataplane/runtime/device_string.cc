// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/device_string.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace bfly::dataplane {
namespace {

struct QueueArgument {
  const char* driver;
  const char* key;
};
constexpr QueueArgument kQueueArguments[] = {
    {"net_af_xdp", "queue_count"}, {"net_vhost", "queues"},     {"net_virtio_user", "queues"},
    {"virtio_user", "queues"},     {"net_af_packet", "qpairs"},
};

}  // namespace

std::string WithQueuePairs(const std::string& device, int queue_pairs) {
  if (queue_pairs <= 1) return device;
  for (const QueueArgument& argument : kQueueArguments) {
    if (!absl::StartsWith(device, argument.driver)) continue;
    const std::string key = absl::StrCat(",", argument.key, "=");
    return absl::StrContains(device, key) ? device : absl::StrCat(device, key, queue_pairs);
  }
  return device;
}

std::optional<std::string> DeviceArgument(absl::string_view device, absl::string_view key) {
  for (absl::string_view part : absl::StrSplit(device, ',')) {
    const std::pair<absl::string_view, absl::string_view> argument =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (argument.first == key) return std::string(argument.second);
  }
  return std::nullopt;
}

bool KeepsQueues(absl::string_view device) {
  for (const char* driver :
       {"net_memif", "net_ring", "net_vhost", "net_virtio_user", "virtio_user"}) {
    if (absl::StartsWith(device, driver)) return true;
  }
  return false;
}

std::string SocketMadeBy(const std::string& device) {
  if (absl::StartsWith(device, "net_vhost") && DeviceArgument(device, "client") != "1") {
    return DeviceArgument(device, "iface").value_or("");
  }
  if (absl::StartsWith(device, "net_virtio_user") && DeviceArgument(device, "server") == "1") {
    return DeviceArgument(device, "path").value_or("");
  }
  return "";
}

}  // namespace bfly::dataplane
