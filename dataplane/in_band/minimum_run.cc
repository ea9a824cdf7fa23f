// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/minimum_run.h"

#include <utility>

namespace bfly::dataplane {

MinimumRun::MinimumRun(std::vector<Candidates> requests, RouteTable& routes)
    : routes_(routes), requests_(std::move(requests)), second_(requests_.size()) {
  took_.reserve(requests_.size());
}

bool MinimumRun::NextPass() {
  next_ = 0;
  if (!started_) {
    started_ = true;
  } else if (!installing_) {
    second_[now_] = most_[1] < most_[0];
    installing_ = true;
  } else {
    installing_ = false;
    ++now_;
  }
  return now_ < requests_.size();
}

int MinimumRun::Emit(Probe* burst, int room) {
  const uint32_t all = installing_ ? 1 : 2;
  int count = 0;
  for (; next_ < all && count < room; ++next_) {
    burst[count++] = {.tag = installing_ ? chosen() : request().tags[next_],
                      .row = request().input,
                      .slot = next_,
                      .kind = installing_ ? ProbeKind::kInstall : ProbeKind::kAsk};
  }
  return count;
}

void MinimumRun::Return(const Probe* burst, int count) {
  if (installing_) {
    routes_.Install(request().input, chosen());
    return;
  }
  for (int i = 0; i < count; ++i) most_[burst[i].slot] = burst[i].most;
}

void MinimumRun::PassReturned(const PassTimes& times) {
  if (begun_ == 0) begun_ = times.begun;
  if (installing_) {
    decide_ += times.begun - returned_;
    install_ += times.returned - times.begun;
    took_.push_back(times.returned - asked_);
  } else {
    asked_ = times.begun;
    forward_ += times.turned - times.begun;
    backward_ += times.returned - times.turned;
  }
  returned_ = times.returned;
}

InBandReport MinimumRun::Report(const Network& network, double cycles_a_second) const {
  InBandReport report;
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
