// SPDX-License-Identifier: Apache-2.0
#include "topologies/link_choice.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace bfly {
namespace {

// Returns the range that contains `number`, or the first range above it, or the end.
std::vector<NumberRange>::const_iterator RangeFrom(const std::vector<NumberRange>& ranges,
                                                   uint64_t number) {
  return std::partition_point(ranges.begin(), ranges.end(),
                              [number](const NumberRange& range) { return range.last < number; });
}

bool Holds(const std::vector<NumberRange>& ranges, uint64_t number) {
  if (ranges.empty()) return true;
  const auto range = RangeFrom(ranges, number);
  return range != ranges.end() && range->first <= number;
}

uint64_t CountIn(const std::vector<NumberRange>& ranges, uint64_t all) {
  if (ranges.empty()) return all;
  uint64_t count = 0;
  for (const NumberRange& range : ranges) count += uint64_t{range.last} - range.first + 1;
  return count;
}

}  // namespace

std::vector<NumberRange> MergeRanges(std::vector<NumberRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const NumberRange& a, const NumberRange& b) { return a.first < b.first; });
  std::vector<NumberRange> merged;
  for (const NumberRange& range : ranges) {
    if (!merged.empty() && range.first <= uint64_t{merged.back().last} + 1) {
      merged.back().last = std::max(merged.back().last, range.last);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

absl::Status CheckRanges(absl::string_view field, const std::vector<NumberRange>& ranges,
                         uint64_t limit) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    const NumberRange& range = ranges[i];
    const auto wrong = [&](absl::string_view what) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, "[", i, "]: ", range.first, "-", range.last, " ", what));
    };
    if (range.last < range.first) return wrong("ends before it begins");
    if (range.last >= limit) return wrong(absl::StrCat("is outside 0..", limit - 1));
    if (i > 0 && range.first <= ranges[i - 1].last) return wrong("overlaps the one before");
  }
  return absl::OkStatus();
}

LinkChoice::LinkChoice(const Network& network, LinkRanges ranges)
    : stages_(static_cast<uint64_t>(network.stages())),
      rows_(network.rows()),
      ports_(static_cast<uint64_t>(network.ports())),
      ranges_(std::move(ranges)) {}

bool LinkChoice::Has(LinkId link) const {
  return Holds(ranges_.stages, static_cast<uint64_t>(link.stage)) &&
         Holds(ranges_.rows, link.row) && Holds(ranges_.ports, static_cast<uint64_t>(link.port));
}

bool LinkChoice::HasPort(uint64_t link_index) const {
  return Holds(ranges_.ports, link_index % ports_);
}

uint64_t LinkChoice::size() const {
  return CountIn(ranges_.stages, stages_) * CountIn(ranges_.rows, rows_) *
         CountIn(ranges_.ports, ports_);
}

LinkChoice::Run LinkChoice::RunFrom(uint64_t from) const {
  const uint64_t per_stage = rows_ * ports_;
  const uint64_t end = stages_ * per_stage;
  while (from < end) {
    const uint64_t stage = from / per_stage;
    if (!ranges_.stages.empty()) {
      const auto range = RangeFrom(ranges_.stages, stage);
      if (range == ranges_.stages.end()) break;
      if (range->first > stage) {
        from = range->first * per_stage;
        continue;
      }
    }
    const uint64_t stage_begin = stage * per_stage;
    if (ranges_.rows.empty()) return {from, stage_begin + per_stage};
    const auto range = RangeFrom(ranges_.rows, (from - stage_begin) / ports_);
    if (range != ranges_.rows.end()) {
      return {std::max(from, stage_begin + range->first * ports_),
              stage_begin + (uint64_t{range->last} + 1) * ports_};
    }
    from = stage_begin + per_stage;
  }
  return {end, end};
}

}  // namespace bfly
