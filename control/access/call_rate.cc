// SPDX-License-Identifier: Apache-2.0
#include "control/access/call_rate.h"

#include <algorithm>

namespace bfly::control {

void CallRate::Fill(Bucket& bucket, Time now) const {
  const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
  bucket.calls = std::min(std::max(per_second_, 1.0), bucket.calls + seconds * per_second_);
  bucket.filled = now;
}

CallRate::Bucket& CallRate::BucketOf(const std::string& caller, Time now) {
  if (buckets_.size() >= kMostCallers && !buckets_.contains(caller)) {
    // A caller who was quiet for a second is forgotten, because the caller's bucket is full, as a
    // new one would be.
    std::erase_if(buckets_, [&](const auto& entry) {
      return now - entry.second.filled > std::chrono::seconds(1);
    });
  }
  const bool crowded = buckets_.size() >= kMostCallers && !buckets_.contains(caller);
  return buckets_.try_emplace(crowded ? "" : caller, Bucket{std::max(per_second_, 1.0), now})
      .first->second;
}

bool CallRate::Take(const std::string& caller, Time now) {
  if (per_second_ <= 0) return true;
  const std::lock_guard lock(mutex_);
  Bucket& bucket = BucketOf(caller, now);
  Fill(bucket, now);
  if (bucket.calls < 1) return false;
  bucket.calls -= 1;
  return true;
}

}  // namespace bfly::control
