// SPDX-License-Identifier: Apache-2.0
// What FabricState keeps by idempotency key.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/intent/fabric_state.h"
#include "control/intent/in_band_outcome.h"

namespace bfly::control {
namespace {

// What makes two orders in band the same; begins with a word of its own, so that kinds never meet.
std::string TextOf(const InBandOrder& order) {
  std::string text =
      absl::StrCat("in_band ", order.protocol, " ", order.options.c, " ", order.options.max_rounds,
                   " ", order.replace, " ", order.single, " ",
                   absl::StrJoin(order.requests, ",", [](std::string* out, const Request& request) {
                     absl::StrAppend(out, request.input, ">", request.output);
                   }));
  if (order.reads.has_value()) {
    const ReadBatchOrder& reads = *order.reads;
    absl::StrAppend(&text, " reads ", reads.protocol, " ", reads.options.c, " ",
                    reads.options.c_disk, " ", reads.options.max_rounds, " ",
                    absl::StrJoin(reads.users, ","), " ", absl::StrJoin(reads.objects, ","));
  }
  if (order.release.has_value()) absl::StrAppend(&text, " release ", *order.release);
  if (order.stop_reading.has_value()) absl::StrAppend(&text, " stop_reading ", *order.stop_reading);
  return text;
}

}  // namespace

void FabricState::Remember(const std::string& key, const std::string& request, Answer answer) {
  keys_.Put(key, request, std::move(answer));
  log_.emplace_back().kind = Step::Kind::kKey;
}

absl::StatusOr<std::shared_ptr<const InBandOutcome>> FabricState::FindInBand(
    const InBandOrder& order, const std::string& key) const {
  if (key.empty()) return nullptr;
  const auto known = keys_.Find(key, TextOf(order));
  if (!known.ok()) return known.status();
  if (*known == nullptr) return nullptr;
  return std::get<std::shared_ptr<const InBandOutcome>>(**known);
}

void FabricState::RememberInBand(const InBandOrder& order, const std::string& key,
                                 const InBandOutcome& outcome) {
  Remember(key, TextOf(order), std::make_shared<const InBandOutcome>(outcome));
}

}  // namespace bfly::control
