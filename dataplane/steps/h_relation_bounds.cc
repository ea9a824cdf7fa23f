// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/h_relation_bounds.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace bfly::dataplane {
namespace {

constexpr uint64_t kLargestBound = uint64_t{1} << 40;

uint64_t CeilOf(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

}  // namespace

uint64_t PaperHBar(int d, uint32_t h, int r) {
  const uint64_t least = std::max<uint64_t>(h, static_cast<uint64_t>(r));
  return Pow2Gt(4 * static_cast<uint64_t>(d) * least / static_cast<uint64_t>(r - 4));
}

std::vector<uint64_t> WeightBounds(int d, uint32_t h, int r, const std::vector<int>& r_of_level) {
  const uint64_t small = std::max<uint64_t>(h, static_cast<uint64_t>(r));
  std::vector<uint64_t> bounds{Pow2Gt(h)};
  for (const int fewest : r_of_level) {
    const auto divisor = static_cast<uint64_t>(fewest);
    uint64_t full = 2 * static_cast<uint64_t>(d) * CeilOf(std::bit_floor(small), divisor);
    for (uint64_t weight = Pow2Gt(small); weight <= bounds.back(); weight *= 2) {
      full += CeilOf(weight, divisor);
    }
    bounds.push_back(std::min(Pow2Gt(full), kLargestBound));
  }
  return bounds;
}

double StagesOfTheorem2(int log_rows, double rho) {
  double most = 0;
  for (int i = 0; i <= log_rows; ++i) {
    const double stages = rho > 0 ? (log_rows - i) / std::log2(1 / rho) : 0;
    most = std::max(most, i + 1 + stages);
  }
  return most + log_rows;
}

uint64_t HRelationCharge::BitsOfStage() const {
  const auto log_h_bar = static_cast<uint64_t>(std::bit_width(h_bar) - 1);
  return static_cast<uint64_t>(iterations) * (log_h_bar + 2) + log_h_bar +
         static_cast<uint64_t>(rounds) * 2 * batch;
}

uint64_t HRelationCharge::BitTime(uint64_t stages) const {
  return stages * BitsOfStage() + CeilOf(message_bits, 2) * 2 * batch;
}

uint64_t HRelationCharge::WordTime(uint64_t stages) const {
  const auto word = static_cast<uint64_t>(log_rows);
  return stages * CeilOf(BitsOfStage(), word) + batch * CeilOf(message_bits, word);
}

}  // namespace bfly::dataplane
