// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/single_paths.h"

namespace bfly::dataplane {

SinglePaths::SinglePaths(const std::vector<Candidates>& requests, RouteTable& routes, bool limited)
    : installer_(routes, limited, requests.size()) {
  for (const Candidates& request : requests) paths_.push_back({request.input, request.tags[0]});
}

const Pass* SinglePaths::NextPass() {
  if (phase_ == Phase::kStart) {
    phase_ = Phase::kInstall;
    return installer_.pass();
  }
  phase_ = phase_ == Phase::kInstall && installer_.refused() ? Phase::kTakeBack : Phase::kEnded;
  return phase_ == Phase::kTakeBack ? &kReleasePass : nullptr;
}

int SinglePaths::Emit(Message* burst, int room) {
  if (phase_ == Phase::kTakeBack) return installer_.EmitReleases(burst, room);
  return EmitAlong(paths_, next_, burst, room);
}

void SinglePaths::Return(const Message* burst, int count) {
  if (phase_ == Phase::kTakeBack) return installer_.AcknowledgeReleases(burst, count);
  installer_.Acknowledge(burst, count);
}

void SinglePaths::PassReturned(const PassTimes& times) {
  installing_ += times.returned - times.begun;
}

InBandReport SinglePaths::Report(const Network& network, double cycles_a_second) const {
  InBandReport report;
  report.refusal = installer_.Refusal(network);
  if (report.refusal.has_value()) return report;
  for (const auto& [input, tag] : paths_) {
    report.paths.push_back({input, OutputOfTag(network, tag), tag, InBandChoice::kOnly});
  }
  report.rounds = 1;
  report.left_per_round = {0};
  report.install_messages = 2 * uint64_t{paths_.size()};
  report.install_steps = CountSteps(network, paths_);
  report.seconds = report.install_seconds = static_cast<double>(installing_) / cycles_a_second;
  return report;
}

}  // namespace bfly::dataplane
