// SPDX-License-Identifier: Apache-2.0
#include "control/services/link_request.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

using Numbers = google::protobuf::RepeatedField<uint32_t>;
using Ranges = google::protobuf::RepeatedPtrField<v1::NumberRange>;

void CheckNumbers(absl::string_view field, const Numbers& numbers, uint64_t limit,
                  FieldErrors& errors) {
  for (int i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < limit) continue;
    errors.Add(OutOfRange(absl::StrCat(field, "[", i, "]"), numbers[i], 0, limit - 1));
  }
}

void CheckEnds(absl::string_view field, const Ranges& ranges, uint64_t limit, FieldErrors& errors) {
  for (int i = 0; i < ranges.size(); ++i) {
    const std::string at = absl::StrCat(field, "[", i, "]");
    if (ranges[i].last() >= limit) {
      errors.Add(OutOfRange(absl::StrCat(at, ".last"), ranges[i].last(), 0, limit - 1));
    }
    if (ranges[i].first() > ranges[i].last()) {
      errors.Add(absl::StrCat(at, ".first"),
                 absl::StrCat(ranges[i].first(), " is above last, ", ranges[i].last()));
    }
  }
}

std::vector<NumberRange> Merged(const Numbers& numbers, const Ranges& more) {
  std::vector<NumberRange> ranges;
  for (const uint32_t number : numbers) ranges.push_back({number, number});
  for (const v1::NumberRange& range : more) ranges.push_back({range.first(), range.last()});
  return MergeRanges(std::move(ranges));
}

void CheckPages(const v1::GetCountersRequest& request, const Network& network,
                FieldErrors& errors) {
  if (request.page_size() > kMostOfPage) {
    errors.Add(OutOfRange("page_size", request.page_size(), 0, kMostOfPage));
  }
  uint64_t begin = 0;
  const bool continues = !request.page_token().empty();
  if (continues &&
      (!absl::SimpleAtoi(request.page_token(), &begin) || begin >= network.link_count())) {
    errors.Add("page_token", "is not one that GetCounters gave for this fabric");
  }
  if (continues && request.page_size() == 0) {
    errors.Add("page_size",
               "is 0, which asks for all links in one answer; give it with page_token");
  }
  if (continues && (request.filter().top() != 0 || request.filter().summary())) {
    errors.Add("page_token",
               "does not go with filter.top and filter.summary: their answers have no pages");
  }
}

}  // namespace

void CheckRanges(const v1::CounterFilter& filter, const Network& network, FieldErrors& errors) {
  const auto stages = static_cast<uint64_t>(network.stages());
  const auto ports = static_cast<uint64_t>(network.ports());
  CheckNumbers("filter.stages", filter.stages(), stages, errors);
  CheckEnds("filter.stage_ranges", filter.stage_ranges(), stages, errors);
  CheckNumbers("filter.rows", filter.rows(), network.rows(), errors);
  CheckEnds("filter.row_ranges", filter.row_ranges(), network.rows(), errors);
  CheckNumbers("filter.ports", filter.ports(), ports, errors);
  if (filter.top() > kMostTop) errors.Add(OutOfRange("filter.top", filter.top(), 0, kMostTop));
  if (!v1::CounterFilter::Figure_IsValid(filter.by())) {
    errors.Add("filter.by", absl::StrCat(static_cast<int>(filter.by()),
                                         " is unknown; use PACKETS, BYTES, OCCUPANCY, "
                                         "OCCUPANCY_PEAK, DROPS or BUSY"));
  } else if (filter.by() != v1::CounterFilter::FIGURE_UNSPECIFIED && filter.top() == 0) {
    errors.Add("filter.by", "says what the top links are chosen by: give filter.top too");
  }
}

absl::Status CheckLinkRequest(const v1::GetCountersRequest& request, const Network& network) {
  const v1::CounterFilter& filter = request.filter();
  FieldErrors errors;
  CheckRanges(filter, network, errors);
  CheckPages(request, network, errors);
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  const bool whole = request.page_size() == 0 && filter.top() == 0 && !filter.summary();
  const uint64_t links = ChoiceOf(filter, network).size();
  // Reading them shows how many links are not zero.
  if (!whole || filter.nonzero() || links <= kMostOfAnswer) return absl::OkStatus();
  return ErrorAtField(
      absl::StatusCode::kResourceExhausted, "page_size",
      absl::StrCat("0 asks for ", links, " links in one answer, which holds ", kMostOfAnswer,
                   "; ask for pages of at most ", kMostOfPage, ", or for fewer links"));
}

LinkChoice ChoiceOf(const v1::CounterFilter& filter, const Network& network) {
  LinkRanges ranges;
  ranges.stages = Merged(filter.stages(), filter.stage_ranges());
  ranges.rows = Merged(filter.rows(), filter.row_ranges());
  ranges.ports = Merged(filter.ports(), {});
  return LinkChoice(network, std::move(ranges));
}

uint64_t BeginOf(const v1::GetCountersRequest& request) {
  uint64_t begin = 0;
  return absl::SimpleAtoi(request.page_token(), &begin) ? begin : 0;
}

}  // namespace bfly::control
