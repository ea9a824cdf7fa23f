// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/collision.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace bfly::dataplane {

CollisionRun::CollisionRun(std::vector<Candidates> requests, const CollisionOptions& options,
                           RouteTable& routes, bool limited)
    : options_(options),
      only_(!requests.empty() && requests.front().only),
      requests_(std::move(requests)),
      choice_(requests_.size(), kNone),
      last_round_(requests_.size()),
      over_(requests_.size()),
      broken_(requests_.size()),
      active_(requests_.size()),
      installer_(routes, limited, requests_.size()) {
  std::iota(active_.begin(), active_.end(), 0u);
}

// What is left takes p, or p' where a fault leaves only that: any path will do, and the bound on
// the congestion is forfeited.
Tag CollisionRun::TagOf(uint32_t request) const {
  const bool second = choice_[request] == kNone ? broken_[request] == 1 : choice_[request] == 1;
  return requests_[request].tags[second ? 1 : 0];
}

void CollisionRun::Decide() {
  size_t left = 0;
  for (const uint32_t request : active_) {
    if (over_[request] == 3) {
      over_[request] = 0;
      active_[left++] = request;
    } else {
      choice_[request] = over_[request] & 1;
    }
  }
  active_.resize(left);
  left_per_round_.push_back(static_cast<uint32_t>(left));
}

bool CollisionRun::NextPass() {
  next_ = 0;
  if (phase_ == Phase::kStart && only_) {
    std::fill(choice_.begin(), choice_.end(), uint8_t{0});
    active_.clear();
    phase_ = Phase::kInstall;
  } else if (phase_ == Phase::kStart && !requests_.empty()) {
    phase_ = Phase::kRound;
  } else if (phase_ == Phase::kRound) {
    const size_t before = active_.size();
    Decide();
    // A round that selected nothing would find the same for ever.
    const bool frozen = active_.size() == before;
    const bool over = options_.max_rounds != 0 && left_per_round_.size() >= options_.max_rounds;
    if (active_.empty() || frozen || over) phase_ = Phase::kInstall;
  } else if (phase_ == Phase::kInstall && installer_.refused()) {
    phase_ = Phase::kTakeBack;
  } else {
    phase_ = Phase::kEnded;
  }
  if (phase_ == Phase::kRound) messages_ += 4 * uint64_t{active_.size()};
  return phase_ != Phase::kEnded;
}

int CollisionRun::Emit(Probe* burst, int room) {
  if (phase_ == Phase::kTakeBack) return installer_.EmitReleases(burst, room);
  const size_t all = phase_ == Phase::kRound ? 2 * active_.size() : requests_.size();
  const int count = static_cast<int>(std::min(all - next_, static_cast<size_t>(room)));
  if (phase_ == Phase::kRound) {
    const uint32_t round = static_cast<uint32_t>(left_per_round_.size());
    for (int i = 0; i < count; ++i, ++next_) {
      const uint32_t request = active_[next_ / 2];
      last_round_[request] = round;
      burst[i] = {.tag = requests_[request].tags[next_ % 2],
                  .row = requests_[request].input,
                  .slot = 2 * request + static_cast<uint32_t>(next_ % 2),
                  .kind = ProbeKind::kCount};
    }
  } else {
    for (int i = 0; i < count; ++i, ++next_) {
      const uint32_t request = static_cast<uint32_t>(next_);
      burst[i] = installer_.ProbeFor(requests_[request].input, TagOf(request), request);
    }
  }
  return count;
}

void CollisionRun::Return(const Probe* burst, int count) {
  if (phase_ == Phase::kRound) {
    for (int i = 0; i < count; ++i) {
      const uint32_t slot = burst[i].slot;
      const bool down = burst[i].down != 0;
      broken_[slot / 2] = static_cast<uint8_t>(broken_[slot / 2] | unsigned{down} << (slot % 2));
      const bool over = down || burst[i].most > options_.c ||
                        (options_.c_disk != 0 && burst[i].at_disk > options_.c_disk);
      over_[slot / 2] = static_cast<uint8_t>(over_[slot / 2] | unsigned{over} << (slot % 2));
    }
  } else if (phase_ == Phase::kInstall) {
    installer_.Acknowledge(burst, count);
  } else {
    installer_.AcknowledgeReleases(burst, count);
  }
}

void CollisionRun::PassReturned(const PassTimes& times) {
  if (begun_ == 0) begun_ = times.begun;
  if (last_returned_ != 0) decide_ += times.begun - last_returned_;
  last_returned_ = times.returned;
  if (phase_ == Phase::kRound) {
    forward_ += times.turned - times.begun;
    backward_ += times.returned - times.turned;
  } else {
    install_ += times.returned - times.begun;
  }
}

InBandReport CollisionRun::Report(const Network& network, double cycles_a_second) const {
  InBandReport report;
  report.refusal = installer_.Refusal(network);
  if (report.refusal.has_value()) return report;
  std::vector<TaggedPath> installed;
  for (uint32_t i = 0; i < requests_.size(); ++i) {
    const Row input = requests_[i].input;
    report.paths.push_back({input, OutputOfTag(network, TagOf(i)), TagOf(i),
                            only_                 ? InBandChoice::kOnly
                            : choice_[i] == kNone ? InBandChoice::kArbitrary
                            : choice_[i] == 0     ? InBandChoice::kP
                                                  : InBandChoice::kPPrime});
    installed.push_back({input, TagOf(i)});
  }
  const auto rounds = static_cast<uint32_t>(left_per_round_.size());
  // Without a choice it is done in one go.
  report.rounds = only_ ? 1 : rounds;
  report.left_per_round = only_ ? std::vector<uint32_t>{0} : left_per_round_;
  report.requests_left = active_;
  report.messages = messages_;
  report.install_messages = 2 * uint64_t{requests_.size()};
  for (uint32_t round = 0; round < rounds; ++round) {
    std::vector<TaggedPath> active;
    for (uint32_t i = 0; i < requests_.size(); ++i) {
      if (last_round_[i] < round) continue;
      for (const Tag tag : requests_[i].tags) active.push_back({requests_[i].input, tag});
    }
    report.steps += CountSteps(network, active);
  }
  report.install_steps = CountSteps(network, installed);
  report.forward_seconds = static_cast<double>(forward_) / cycles_a_second;
  report.backward_seconds = static_cast<double>(backward_) / cycles_a_second;
  report.decide_seconds = static_cast<double>(decide_) / cycles_a_second;
  report.install_seconds = static_cast<double>(install_) / cycles_a_second;
  report.seconds = static_cast<double>(last_returned_ - begun_) / cycles_a_second;
  return report;
}

}  // namespace bfly::dataplane
