// SPDX-License-Identifier: Apache-2.0
// How many calls a second each of many callers may begin: a token bucket a caller.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

namespace bfly::control {

// Thread-safe. A caller may begin what a second allows at once, and then as many as become free.
class CallRate {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Callers that are told apart. Beyond them, callers who are not known yet share one bucket.
  static constexpr size_t kMostCallers = 4096;

  // 0: no limit.
  explicit CallRate(double calls_per_second) : per_second_(calls_per_second) {}

  double per_second() const { return per_second_; }
  // Counts a call that `caller` begins now. Returns false if it comes too early.
  bool Take(const std::string& caller, Time now);

 private:
  struct Bucket {
    double calls;
    Time filled;
  };
  void Fill(Bucket& bucket, Time now) const;
  Bucket& BucketOf(const std::string& caller, Time now);

  const double per_second_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;  // mutex_
};

}  // namespace bfly::control
