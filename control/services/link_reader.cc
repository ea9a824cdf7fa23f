// SPDX-License-Identifier: Apache-2.0
#include "control/services/link_reader.h"

#include <mutex>

#include "absl/strings/str_cat.h"
#include "control/services/link_call.h"
#include "control/services/link_request.h"
#include "control/status/field_errors.h"

namespace bfly::control {

namespace {

absl::Status TooLate() {
  return absl::DeadlineExceededError(
      "the links could not be read until the deadline of the call; ask for fewer, or give more "
      "time");
}

// Fills in one page, or all of them where the request asks for all links in one answer.
absl::Status ReadInOrder(const v1::GetCountersRequest& request, const Network& network,
                         Deadline deadline, LinkCall& call, v1::Counters* counters) {
  const bool in_pages = request.page_size() != 0;
  const uint64_t behind = network.link_count();
  uint64_t next = BeginOf(request);
  do {
    if (next != BeginOf(request) && IsOver(deadline)) return TooLate();
    const uint32_t most = in_pages ? request.page_size() : kMostOfPage;
    const absl::StatusOr<uint64_t> end = call.Page(next, most, counters);
    if (!end.ok()) return end.status();
    next = *end;
    if (static_cast<uint32_t>(counters->links_size()) > kMostOfAnswer) {
      return ErrorAtField(
          absl::StatusCode::kResourceExhausted, "page_size",
          absl::StrCat("0 asks for all links in one answer, which holds ", kMostOfAnswer,
                       "; ask for pages of at most ", kMostOfPage, ", or for fewer links"));
    }
  } while (!in_pages && next < behind);
  if (next < behind) counters->set_next_page_token(absl::StrCat(next));
  return absl::OkStatus();
}

}  // namespace

absl::Status LinkReader::Read(const v1::GetCountersRequest& request, const Controller::View& view,
                              Deadline deadline, v1::Counters* counters) {
  const v1::CounterFilter& filter = request.filter();
  if (filter.summary()) return absl::OkStatus();
  std::unique_lock lock(one_at_a_time_, std::defer_lock);
  if (!lock.try_lock_until(deadline)) return TooLate();
  LinkCall call(controller_, view, filter, deadline);
  const absl::Status status = filter.top() != 0
                                  ? call.Top(counters)
                                  : ReadInOrder(request, *view.network, deadline, call, counters);
  for (const std::string& problem : call.problems()) counters->add_problems(problem);
  for (const std::string& plane : call.planes_missing()) counters->add_planes_missing(plane);
  counters->set_links_missing(!call.planes_missing().empty());
  return status;
}

}  // namespace bfly::control
