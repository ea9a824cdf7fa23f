// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/measure/packets/packet_point.h"

namespace bfly::control {

// The worst links of an experiment's points over its seeds. Counting takes up to a second for each
// seed, and is done once for all points that differ in the load alone.
class WorstLinks {
 public:
  explicit WorstLinks(std::vector<uint64_t> seeds) : seeds_(std::move(seeds)) {}

  // Sets worst_link and worst_carried_link of a point with a pattern. Errors are those of
  // WorstLink.
  absl::Status SetOf(PacketPoint& point);

 private:
  struct Known {
    PacketPoint point;
    std::vector<double> of_seeds;
  };

  absl::StatusOr<std::vector<double>> Count(const PacketPoint& point) const;

  const std::vector<uint64_t> seeds_;
  std::vector<Known> known_;
};

}  // namespace bfly::control
