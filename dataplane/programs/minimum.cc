// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/minimum.h"

#include <algorithm>
#include <utility>

#include "dataplane/programs/disk_nodes.h"
#include "dataplane/programs/stage_nodes.h"

namespace bfly::dataplane {

void AskPass::Backward(StageNodes& nodes, Message* burst, int count) const {
  if (nodes.collides()) {
    nodes.CrossBack(burst, count, [circuits = nodes.all_circuits()](Message& m, uint32_t link) {
      m.value = std::max(m.value, circuits[link].load(std::memory_order_relaxed));
    });
  } else {
    nodes.CrossBack(burst, count);
  }
  NoteFull(nodes, burst, count);
  NoteDown(nodes, burst, count);
}

void AskPass::Leave(const DiskNodes& disks, Message* burst, int count) const {
  for (int i = 0; i < count; ++i) {
    burst[i].value = std::max(burst[i].value, disks.circuits(burst[i].row));
  }
}

Minimum::Minimum(std::vector<Candidates> requests, const MinimumParameters& parameters,
                 RouteTable& routes, bool limited)
    : requests_(std::move(requests)),
      second_(requests_.size()),
      parameters_(parameters),
      installer_(routes, limited, requests_.size()) {
  took_.reserve(requests_.size());
}

void Minimum::Decide() {
  bool second = most_[1] < most_[0];
  const auto blocked = [this](bool path) {
    return down_[path] || (parameters_.other_if_full && full_[path]);
  };
  if (blocked(second) && !blocked(!second)) second = !second;
  // If none can be taken, the one that is whole says why.
  if (down_[second] && !down_[!second]) second = !second;
  second_[now_] = second;
}

const Pass* Minimum::NextPass() {
  next_ = 0;
  if (phase_ == Phase::kAsk) {
    Decide();
    phase_ = Phase::kInstall;
    return installer_.pass();
  }
  if (phase_ == Phase::kInstall) ++now_;
  if (phase_ == Phase::kInstall && installer_.refused()) {
    phase_ = Phase::kTakeBack;
    return &kReleasePass;
  }
  const bool ended = phase_ == Phase::kTakeBack || phase_ == Phase::kEnded;
  phase_ = !ended && now_ < requests_.size() ? Phase::kAsk : Phase::kEnded;
  return phase_ == Phase::kAsk ? &kAskPass : nullptr;
}

int Minimum::Emit(Message* burst, int room) {
  if (phase_ == Phase::kTakeBack) return installer_.EmitReleases(burst, room);
  const bool asking = phase_ == Phase::kAsk;
  int count = 0;
  for (; next_ < (asking ? 2 : 1) && count < room; ++next_) {
    burst[count++] = {.tag = asking ? request().tags[next_] : chosen(),
                      .row = request().input,
                      .slot = asking ? next_ : static_cast<uint32_t>(now_)};
  }
  return count;
}

void Minimum::Return(const Message* burst, int count) {
  if (phase_ == Phase::kInstall) return installer_.Acknowledge(burst, count);
  if (phase_ == Phase::kTakeBack) return installer_.AcknowledgeReleases(burst, count);
  for (int i = 0; i < count; ++i) {
    most_[burst[i].slot] = burst[i].value;
    full_[burst[i].slot] = burst[i].notes[kFullNote] != 0;
    down_[burst[i].slot] = burst[i].notes[kDownNote] != 0;
  }
}

void Minimum::PassReturned(const PassTimes& times) {
  if (cycles_.begun == 0) cycles_.begun = times.begun;
  if (phase_ == Phase::kInstall) {
    cycles_.decide += times.begun - cycles_.returned;
    cycles_.install += times.returned - times.begun;
    took_.push_back(times.returned - asked_);
  } else if (phase_ == Phase::kAsk) {
    asked_ = times.begun;
    cycles_.forward += times.turned - times.begun;
    cycles_.backward += times.returned - times.turned;
  }
  cycles_.returned = times.returned;
}

InBandReport Minimum::Report(const Network& network, double cycles_a_second) const {
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
  cycles_.Tell(cycles_a_second, report);
  return report;
}

}  // namespace bfly::dataplane
