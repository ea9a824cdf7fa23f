// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/window_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "dataplane/virtual_clock/narrow_vectors.h"
#include "dataplane/virtual_clock/packet_vectors.h"
#include "dataplane/virtual_clock/sharing_lane.h"
#include "dataplane/virtual_clock/stage_block.h"
#include "dataplane/virtual_clock/stage_group.h"

namespace bfly::dataplane {
namespace {

// The packets that a row generates in a window.
constexpr double kMostPackets = 60;
// With vectors and several groups of stages: packets are packed, and blocks of rows stay in cache.
constexpr double kMostPackedPackets = 44;
constexpr double kPackedPacketsOfAStage = 6.2;  // with two groups of stages
// Packets one by one: nodes take more room for their lists.
constexpr double kPlainPacketsOfAStage = 2.7;
constexpr double kLeastPackets = 8;     // with vectors
constexpr double kServedPackets = 100;  // links that are not FIFO cost much to open

}  // namespace

WindowPlan PlanWindows(const Network& network, double rate, Ticks unit, Vectors vectors,
                       Ticks length) {
  WindowPlan plan{length, -1, false,
                  static_cast<double>(length) / static_cast<double>(unit) * rate};
#if BFLY_HAS_PACKET_VECTORS
  const int bits = static_cast<int>(std::bit_width(unit)) - 1;
  if (vectors == Vectors::kNone || network.straight_is_free() || bits > kMostBucketBits ||
      (length - 1) >> bits >= StageWindow::kMostBuckets) {
    return plan;
  }
  const bool wide = vectors == Vectors::kWidest && HasPacketVectors();
  plan.narrow = !wide && HasNarrowVectors() && plan.packets <= kMostNarrowPackets;
  if (wide || plan.narrow) plan.bucket_bits = bits;
#endif
  return plan;
}

WindowPlan PlanWindows(const Network& network, double rate, Ticks unit, Vectors vectors) {
  const auto length = [&](double units) {
    return std::max<Ticks>(1, ToTicksBeforeFar(units * static_cast<double>(unit)));
  };
  // The packets of a window wait between groups of stages and take 12 or 16 bytes for each group.
  // Windows are so short that a link takes about 64 bytes at most and that a block of rows stays in
  // cache.
  const auto groups = StageGroup::Split(network, 0, network.stages() - 1).size();
  const auto packets = [&](double most, double of_a_stage) {
    if (groups == 1) return kMostPackets;
    return std::min(most, of_a_stage * network.stages() / static_cast<double>(groups - 1));
  };
  // A window consists of whole vectors of buckets. There are no vectors where links are so idle
  // that most buckets would be empty.
  double units = std::min<double>(packets(kMostPackedPackets, kPackedPacketsOfAStage) / rate,
                                  StageWindow::kMostBuckets);
  if (units > 16) units = std::floor(units / 8) * 8;
  if (units * rate >= kLeastPackets) {
    const WindowPlan plan = PlanWindows(network, rate, unit, vectors, length(units));
    if (plan.bucket_bits >= 0) return plan;
  }
  return PlanWindows(network, rate, unit, Vectors::kNone,
                     length(packets(kMostPackets, kPlainPacketsOfAStage) / rate));
}

WindowPlan PlanServedWindows(double rate, Ticks unit) {
  const double units = static_cast<double>(unit);
  const double length =
      std::min(kServedPackets / rate * units, static_cast<double>(kLongestSharedWindow));
  return {std::max<Ticks>(1, static_cast<Ticks>(length)), -1, false, length / units * rate};
}

}  // namespace bfly::dataplane
