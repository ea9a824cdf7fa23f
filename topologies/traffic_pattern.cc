// SPDX-License-Identifier: Apache-2.0
#include "topologies/traffic_pattern.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly {
namespace {

constexpr const char* kPermutations[] = {"bitcomp", "bitrev",  "transpose",
                                         "shuffle", "tornado", "neighbor"};

// Returns the running sums of the weights; the last sum is their total.
absl::StatusOr<std::vector<uint32_t>> SumsOfWeights(const TrafficPatternSpec& spec, uint32_t rows) {
  if (spec.hotspots.empty()) {
    return absl::InvalidArgumentError("hotspots: none is given; name at least one row");
  }
  if (spec.weights.size() > spec.hotspots.size()) {
    return absl::InvalidArgumentError(absl::StrCat("weights: ", spec.weights.size(), " given for ",
                                                   spec.hotspots.size(), " hotspots"));
  }
  std::vector<uint32_t> sums;
  uint64_t sum = 0;
  for (size_t i = 0; i < spec.hotspots.size(); ++i) {
    if (spec.hotspots[i] >= rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("hotspots[", i, "]: ", spec.hotspots[i], " is outside 0..", rows - 1));
    }
    sum += spec.weights.empty() ? 1 : spec.weights[std::min(i, spec.weights.size() - 1)];
    sums.push_back(static_cast<uint32_t>(std::min<uint64_t>(sum, UINT32_MAX)));
  }
  if (sum == 0 || sum > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights: their sum, ", sum, ", is outside 1..", UINT32_MAX));
  }
  return sums;
}

}  // namespace

std::vector<std::string> TrafficPatternNames() {
  std::vector<std::string> names{"uniform", "p-flip"};
  names.insert(names.end(), std::begin(kPermutations), std::end(kPermutations));
  names.insert(names.end(), {"randperm", "hotspot", "permutation"});
  return names;
}

absl::StatusOr<TrafficPattern> TrafficPattern::Make(const TrafficPatternSpec& spec, uint32_t rows) {
  if (!std::has_single_bit(rows) || rows < 2) {
    return absl::InvalidArgumentError(absl::StrCat("rows: ", rows, " is not a power of two"));
  }
  TrafficPattern pattern;
  pattern.dimension_ = std::countr_zero(rows);
  pattern.seed_ = spec.seed;
  if (spec.name == "uniform") {
    pattern.kind_ = Kind::kUniform;
  } else if (spec.name == "p-flip") {
    if (!(spec.p >= 0 && spec.p <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("p: ", spec.p, " is not a probability, 0 to 1"));
    }
    pattern.kind_ = Kind::kFlip;
    pattern.threshold_ = static_cast<uint64_t>(std::ldexp(spec.p, 32));
  } else if (spec.name == "hotspot") {
    absl::StatusOr<std::vector<uint32_t>> sums = SumsOfWeights(spec, rows);
    if (!sums.ok()) return sums.status();
    pattern.kind_ = Kind::kHotspot;
    pattern.table_ = spec.hotspots;
    pattern.up_to_ = *std::move(sums);
  } else if (spec.name == "permutation") {
    if (absl::Status status = CheckPermutation(spec.permutation, rows); !status.ok()) return status;
    pattern.table_ = spec.permutation;
  } else if (const bool random = spec.name == "randperm";
             random || std::count(std::begin(kPermutations), std::end(kPermutations), spec.name)) {
    absl::StatusOr<Permutation> table =
        PermutationByName(random ? "random" : spec.name, rows, spec.seed);
    if (!table.ok()) return table.status();
    pattern.table_ = *std::move(table);
  } else {
    return absl::InvalidArgumentError(absl::StrCat("pattern: \"", spec.name, "\" is unknown; use ",
                                                   absl::StrJoin(TrafficPatternNames(), ", ")));
  }
  return pattern;
}

Row TrafficPattern::Flips(Row source, uint64_t index) const {
  const RowDraw draw = DrawOfRow(source, index);
  Row flips = 0;
  PhiloxBlock block{};
  for (int bit = 0; bit < dimension_; ++bit) {
    if (bit % 4 == 0) {
      block = RandomBlock(seed_, RandomStream::kTraffic, draw.counter,
                          draw.attempt + static_cast<uint32_t>(bit / 4));
    }
    flips |= static_cast<Row>(block[bit % 4] < threshold_) << bit;
  }
  return flips;
}

Row TrafficPattern::Hotspot(Row source, uint64_t index) const {
  const RowDraw draw = DrawOfRow(source, index);
  const uint32_t point =
      RandomBelow(seed_, RandomStream::kTraffic, draw.counter, up_to_.back(), draw.attempt);
  return table_[std::upper_bound(up_to_.begin(), up_to_.end(), point) - up_to_.begin()];
}

}  // namespace bfly
