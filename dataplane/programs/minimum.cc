// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/minimum.h"

#include <utility>

namespace bfly::dataplane {

MinimumRun::MinimumRun(std::vector<Candidates> requests, const MinimumOptions& options,
                       RouteTable& routes, bool limited)
    : requests_(std::move(requests)),
      second_(requests_.size()),
      options_(options),
      installer_(routes, limited, requests_.size()) {
  took_.reserve(requests_.size());
}

bool MinimumRun::NextPass() {
  next_ = 0;
  switch (phase_) {
    case Phase::kAsk: {
      bool second = most_[1] < most_[0];
      const auto blocked = [this](bool path) {
        return down_[path] || (options_.other_if_full && full_[path]);
      };
      if (blocked(second) && !blocked(!second)) second = !second;
      second_[now_] = second;
      phase_ = Phase::kInstall;
      break;
    }
    case Phase::kInstall:
      ++now_;
      [[fallthrough]];
    case Phase::kStart:
      phase_ = now_ < requests_.size() ? Phase::kAsk : Phase::kEnded;
      if (installer_.refused()) phase_ = Phase::kTakeBack;
      break;
    case Phase::kTakeBack:
    case Phase::kEnded:
      phase_ = Phase::kEnded;
      break;
  }
  return phase_ != Phase::kEnded;
}

int MinimumRun::Emit(Probe* burst, int room) {
  if (phase_ == Phase::kTakeBack) return installer_.EmitReleases(burst, room);
  const bool asking = phase_ == Phase::kAsk;
  int count = 0;
  for (; next_ < (asking ? 2 : 1) && count < room; ++next_) {
    burst[count++] =
        asking ? Probe{.tag = request().tags[next_],
                       .row = request().input,
                       .slot = next_,
                       .kind = ProbeKind::kAsk}
               : installer_.ProbeFor(request().input, chosen(), static_cast<uint32_t>(now_));
  }
  return count;
}

void MinimumRun::Return(const Probe* burst, int count) {
  if (phase_ == Phase::kInstall) return installer_.Acknowledge(burst, count);
  if (phase_ == Phase::kTakeBack) return installer_.AcknowledgeReleases(burst, count);
  for (int i = 0; i < count; ++i) {
    most_[burst[i].slot] = burst[i].most;
    full_[burst[i].slot] = burst[i].full != 0;
    down_[burst[i].slot] = burst[i].down != 0;
  }
}

void MinimumRun::PassReturned(const PassTimes& times) {
  if (begun_ == 0) begun_ = times.begun;
  if (phase_ == Phase::kInstall) {
    decide_ += times.begun - returned_;
    install_ += times.returned - times.begun;
    took_.push_back(times.returned - asked_);
  } else if (phase_ == Phase::kAsk) {
    asked_ = times.begun;
    forward_ += times.turned - times.begun;
    backward_ += times.returned - times.turned;
  }
  returned_ = times.returned;
}

InBandReport MinimumRun::Report(const Network& network, double cycles_a_second) const {
  InBandReport report;
  report.refusal = installer_.Refusal(network);
  if (report.refusal.has_value()) return report;
  const auto count = static_cast<uint64_t>(requests_.size());
  for (size_t i = 0; i < requests_.size(); ++i) {
    const Tag tag = requests_[i].tags[second_[i]];
    report.paths.push_back({requests_[i].input, OutputOfTag(network, tag), tag,
                            second_[i] != 0 ? InBandChoice::kPPrime : InBandChoice::kP});
    report.set_up_seconds.push_back(static_cast<double>(took_[i]) / cycles_a_second);
  }
  // The two paths share no link (Cole et al. 1998, section 2), so no packet ever waits.
  const uint64_t crossed = count * static_cast<uint64_t>(network.hops());
  report.steps = report.install_steps = {.forward = crossed, .backward = crossed};
  report.rounds = static_cast<uint32_t>(count);
  report.messages = 4 * count;
  report.install_messages = 2 * count;
  report.forward_seconds = static_cast<double>(forward_) / cycles_a_second;
  report.backward_seconds = static_cast<double>(backward_) / cycles_a_second;
  report.decide_seconds = static_cast<double>(decide_) / cycles_a_second;
  report.install_seconds = static_cast<double>(install_) / cycles_a_second;
  report.seconds = static_cast<double>(returned_ - begun_) / cycles_a_second;
  return report;
}

}  // namespace bfly::dataplane
