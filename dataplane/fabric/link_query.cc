// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/link_query.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {
namespace {

// This many links are read at a time. Their figures fit the cache.
constexpr uint64_t kBlock = 4096;

}  // namespace

absl::Status CheckQuery(const LinkQuery& query, const Network& network) {
  absl::Status status =
      CheckRanges("stages", query.ranges.stages, static_cast<uint64_t>(network.stages()));
  status.Update(CheckRanges("rows", query.ranges.rows, network.rows()));
  status.Update(CheckRanges("ports", query.ranges.ports, static_cast<uint64_t>(network.ports())));
  if (query.begin > query.end) {
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("begin: ", query.begin, " is above end, ", query.end)));
  }
  for (size_t i = 0; i < query.also.size(); ++i) {
    const bool ascends = i == 0 || query.also[i] > query.also[i - 1];
    if (ascends && query.also[i] < network.link_count()) continue;
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("also[", i, "]: ", query.also[i],
                     ascends ? absl::StrCat(" is outside 0..", network.link_count() - 1)
                             : absl::StrCat(" is not above the one before"))));
    break;
  }
  return status;
}

LinkScan::LinkScan(const LinkQuery& query, const Fabric& fabric)
    : query_(query), choice_(fabric.network(), query.ranges) {
  const Network& network = fabric.network();
  const auto [first_stage, last_stage] = fabric.stages();
  first_ = network.link_index({.stage = first_stage});
  const uint64_t behind = network.link_index({.stage = last_stage + 1});
  end_ = std::min(query.end, behind);
  if (!query.among.empty()) end_ = std::min(end_, query.begin + 8 * query.among.size());
  next_ = std::max(query.begin, first_);
}

bool LinkScan::IsWanted(uint64_t index) const {
  if (!choice_.all_ports() && !choice_.HasPort(index)) return false;
  if (query_.among.empty()) return true;
  const uint64_t bit = index - query_.begin;
  return (query_.among[bit / 8] >> (bit % 8) & 1) != 0;
}

void LinkScan::Keep(const Fabric& fabric, uint64_t index, uint64_t value) {
  if (query_.top == 0) {
    reading_.links.push_back({index, fabric.ReadLink(index)});
    full_ = reading_.links.size() == query_.most;
    return;
  }
  if (best_.size() == query_.top) best_.pop();
  best_.push({value, index});
}

void LinkScan::Look(const Fabric& fabric, uint64_t count) {
  if (query_.top != 0) {
    values_.resize(count);
    fabric.ReadLinkFigures(query_.by, next_, values_);
  }
  if (query_.used) {
    uses_.resize(count);
    fabric.ReadLinkFigures(LinkFigure::kUse, next_, uses_);
  }
  const bool choosy = !choice_.all_ports() || !query_.among.empty();
  const uint64_t first = next_;
  for (uint64_t i = 0; i < count && !full_; ++i) {
    next_ = first + i + 1;
    if (query_.used && uses_[i] == 0) continue;
    const uint64_t value = query_.top != 0 ? values_[i] : 0;
    // Most links of a large network stop here. Indexes ascend, so a link whose figure only equals
    // the smallest one comes too late.
    if (query_.top != 0 && best_.size() == query_.top && value <= best_.top().value) continue;
    if (choosy && !IsWanted(first + i)) continue;
    Keep(fabric, first + i, value);
  }
}

bool LinkScan::Continue(const Fabric& fabric, uint64_t links) {
  for (uint64_t looked = 0; !full_ && looked < links && next_ < end_;) {
    const LinkChoice::Run run = choice_.RunFrom(next_);
    next_ = std::min(run.first, end_);
    const uint64_t count = std::min({run.end - run.first, end_ - next_, kBlock});
    if (count > 0) Look(fabric, count);
    looked += count + 1;
  }
  return !full_ && next_ < end_;
}

LinkReading LinkScan::Take(const Fabric& fabric) {
  std::vector<uint64_t> chosen;
  for (; !best_.empty(); best_.pop()) chosen.push_back(best_.top().index);
  const auto [first_stage, last_stage] = fabric.stages();
  const uint64_t behind = fabric.network().link_index({.stage = last_stage + 1});
  for (const uint64_t index : query_.also) {
    if (index >= first_ && index < behind) chosen.push_back(index);
  }
  for (const uint64_t index : chosen) {
    reading_.links.push_back({index, fabric.ReadLink(index)});
  }
  auto& links = reading_.links;
  std::sort(links.begin(), links.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  links.erase(std::unique(links.begin(), links.end(),
                          [](const auto& a, const auto& b) { return a.index == b.index; }),
              links.end());
  reading_.end = full_ ? next_ : query_.end;
  return std::move(reading_);
}

}  // namespace bfly::dataplane
