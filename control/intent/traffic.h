// SPDX-License-Identifier: Apache-2.0
// The built-in sources that run on a fabric. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/traffic.pb.h"

namespace bfly::control {

class Traffic {
 public:
  using Sources = std::vector<v1::TrafficSource>;

  Traffic() = default;
  // Every source has its id already.
  explicit Traffic(Sources sources) : sources_(std::move(sources)) {}

  const Sources& sources() const { return sources_; }
  // The bytes that the messages of all sources take.
  uint64_t bytes() const;
  // The id of the newest source that wants latencies recorded; 0 if no source wants that.
  uint64_t latency_id() const;

  // The traffic once `added` have started: each gets the next id, and together they replace the
  // sources of the same names. INVALID_ARGUMENT names every "sources[i].name" that is given twice.
  absl::StatusOr<Traffic> WithStarted(Sources added) const;
  // The traffic once the sources of these names have stopped; without names every source stops.
  // NOT_FOUND names the "names[i]" that no source has.
  absl::StatusOr<Traffic> WithStopped(const std::vector<std::string>& names) const;

 private:
  std::string NamesText() const;

  Sources sources_;
};

}  // namespace bfly::control
