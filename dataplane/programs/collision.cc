// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/collision.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/programs/disk_nodes.h"
#include "dataplane/programs/stage_nodes.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kMaxThreshold = 254;  // a mark of 255 stands for 255 or more

absl::Status CheckThreshold(const char* field, uint32_t value) {
  if (value >= 1 && value <= kMaxThreshold) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is outside 1..", kMaxThreshold));
}

void MarkOneMore(uint8_t& mark) { mark = static_cast<uint8_t>(mark + (mark != 255)); }

}  // namespace

absl::Status CollisionParameters::Check(bool reads) const {
  absl::Status status = CheckThreshold("c", c);
  return status.ok() && reads ? CheckThreshold("c_disk", c_disk) : status;
}

void CountPass::Forward(StageNodes& nodes, Message* burst, int count) const {
  if (!nodes.collides()) return nodes.Cross(burst, count);
  nodes.Cross(burst, count,
              [marks = nodes.WriteMarks()](Message&, uint32_t link) { MarkOneMore(marks[link]); });
}

void CountPass::Backward(StageNodes& nodes, Message* burst, int count) const {
  const std::atomic<uint32_t>* const circuits = nodes.all_circuits();
  const uint8_t* const marks = nodes.marks();
  if (nodes.collides() && nodes.has_circuits()) {
    nodes.CrossBack(burst, count, [marks, circuits](Message& m, uint32_t link) {
      m.value = std::max(m.value, marks[link] + circuits[link].load(std::memory_order_relaxed));
    });
  } else if (nodes.collides()) {
    nodes.CrossBack(burst, count, [marks](Message& m, uint32_t link) {
      m.value = std::max<uint32_t>(m.value, marks[link]);
    });
  } else if (nodes.has_circuits()) {
    nodes.CrossBack(burst, count, [circuits](Message& m, uint32_t link) {
      m.value = std::max(m.value, 1 + circuits[link].load(std::memory_order_relaxed));
    });
  } else {
    // The message found only itself on a link that candidate paths share.
    nodes.CrossBack(burst, count);
  }
  NoteDown(nodes, burst, count);
}

void CountPass::Arrive(DiskNodes& disks, const Message* burst, int count) const {
  uint8_t* const marks = disks.WriteMarks();
  for (int i = 0; i < count; ++i) MarkOneMore(marks[burst[i].row]);
}

void CountPass::Leave(const DiskNodes& disks, Message* burst, int count) const {
  for (int i = 0; i < count; ++i) {
    const Row disk = burst[i].row;
    burst[i].notes[kAtDiskNote] =
        static_cast<uint8_t>(std::min(disks.marks()[disk] + disks.circuits(disk), 255u));
  }
}

Collision::Collision(std::vector<Candidates> requests, const CollisionParameters& parameters,
                     RouteTable& routes, bool limited)
    : parameters_(parameters),
      requests_(std::move(requests)),
      choice_(requests_.size(), kNone),
      last_round_(requests_.size()),
      over_(requests_.size()),
      broken_(requests_.size()),
      active_(requests_.size()),
      installer_(routes, limited, requests_.size()) {
  std::iota(active_.begin(), active_.end(), 0u);
}

// A request that is left takes p, or p' if a fault leaves only that. The bound on the congestion is
// forfeited.
Tag Collision::TagOf(uint32_t request) const {
  const bool second = choice_[request] == kNone ? broken_[request] == 1 : choice_[request] == 1;
  return requests_[request].tags[second ? 1 : 0];
}

void Collision::Decide() {
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

const Pass* Collision::NextPass() {
  next_ = 0;
  if (phase_ == Phase::kStart && !requests_.empty()) {
    phase_ = Phase::kRound;
  } else if (phase_ == Phase::kRound) {
    const size_t before = active_.size();
    Decide();
    // If a round selected nothing, every later round would find the same.
    const bool frozen = active_.size() == before;
    const bool over =
        parameters_.max_rounds != 0 && left_per_round_.size() >= parameters_.max_rounds;
    if (active_.empty() || frozen || over) phase_ = Phase::kInstall;
  } else if (phase_ == Phase::kInstall && installer_.refused()) {
    phase_ = Phase::kTakeBack;
  } else {
    phase_ = Phase::kEnded;
  }
  if (phase_ == Phase::kEnded) return nullptr;
  if (phase_ == Phase::kInstall) return installer_.pass();
  if (phase_ == Phase::kTakeBack) return &kReleasePass;
  messages_ += 4 * uint64_t{active_.size()};
  return &kCountPass;
}

int Collision::Emit(Message* burst, int room) {
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
                  .slot = 2 * request + static_cast<uint32_t>(next_ % 2)};
    }
  } else {
    for (int i = 0; i < count; ++i, ++next_) {
      const uint32_t request = static_cast<uint32_t>(next_);
      burst[i] = {.tag = TagOf(request), .row = requests_[request].input, .slot = request};
    }
  }
  return count;
}

void Collision::Return(const Message* burst, int count) {
  if (phase_ == Phase::kRound) {
    for (int i = 0; i < count; ++i) {
      const uint32_t slot = burst[i].slot;
      const bool down = burst[i].notes[kDownNote] != 0;
      broken_[slot / 2] = static_cast<uint8_t>(broken_[slot / 2] | unsigned{down} << (slot % 2));
      const bool over =
          down || burst[i].value > parameters_.c ||
          (parameters_.c_disk != 0 && burst[i].notes[kAtDiskNote] > parameters_.c_disk);
      over_[slot / 2] = static_cast<uint8_t>(over_[slot / 2] | unsigned{over} << (slot % 2));
    }
  } else if (phase_ == Phase::kInstall) {
    installer_.Acknowledge(burst, count);
  } else {
    installer_.AcknowledgeReleases(burst, count);
  }
}

void Collision::PassReturned(const PassTimes& times) {
  if (cycles_.begun == 0) cycles_.begun = times.begun;
  if (cycles_.returned != 0) cycles_.decide += times.begun - cycles_.returned;
  cycles_.returned = times.returned;
  if (phase_ == Phase::kRound) {
    cycles_.forward += times.turned - times.begun;
    cycles_.backward += times.returned - times.turned;
  } else {
    cycles_.install += times.returned - times.begun;
  }
}

InBandReport Collision::Report(const Network& network, double cycles_a_second) const {
  InBandReport report;
  report.refusal = installer_.Refusal(network);
  if (report.refusal.has_value()) return report;
  std::vector<TaggedPath> installed;
  for (uint32_t i = 0; i < requests_.size(); ++i) {
    const Row input = requests_[i].input;
    report.paths.push_back({input, OutputOfTag(network, TagOf(i)), TagOf(i),
                            choice_[i] == kNone ? InBandChoice::kArbitrary
                            : choice_[i] == 0   ? InBandChoice::kP
                                                : InBandChoice::kPPrime});
    installed.push_back({input, TagOf(i)});
  }
  const auto rounds = static_cast<uint32_t>(left_per_round_.size());
  report.rounds = rounds;
  report.left_per_round = left_per_round_;
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
  cycles_.Tell(cycles_a_second, report);
  return report;
}

}  // namespace bfly::dataplane
