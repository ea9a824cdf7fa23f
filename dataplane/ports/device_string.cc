// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/device_string.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace bfly::dataplane {
namespace {

struct QueueArgument {
  const char* driver;
  const char* key;
};
constexpr QueueArgument kQueueArguments[] = {
    {"net_af_xdp", "queue_count"},
    {"net_vhost", "queues"},
    {"net_virtio_user", "queues"},
    {"net_af_packet", "qpairs"},
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

}  // namespace bfly::dataplane
