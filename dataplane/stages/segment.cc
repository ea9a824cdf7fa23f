// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/segment.h"

#include <rte_cycles.h>

#include <algorithm>
#include <bit>

namespace bfly::dataplane {

static_assert(std::bit_width(unsigned{kBurst}) < PollCounts::kSizes);

void Segment::SetLaneGroups(LaneGroups lane_groups) {
  lane_groups_ = std::move(lane_groups);
  const auto is_one = [](const std::vector<uint16_t>& lanes) { return lanes.size() == 1; };
  if (std::all_of(lane_groups_.groups.begin(), lane_groups_.groups.end(), is_one)) {
    for (uint16_t group : lane_groups_.group_of_row)
      lane_of_row_.push_back(lane_groups_.groups[group][0]);
  }
  batch_ = std::make_unique<Descriptor[]>(kBatch);
}

bool Segment::blocked() const {
  return std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.blocked(); });
}

void Segment::Run(Account& account) {
  if (blocked()) return;
  const bool leaves = !batch_ && lanes_[0].leaves_fabric();
  for (int taken = 0; taken < kBatch;) {
    const int count = TakeIn(kBatch - taken, leaves, account);
    if (count == 0 || !leaves) return;
    lanes_[0].SendOut(account.ledger);
    if (count < kBurst) return;  // the inlet has no more packets
    taken += count;
  }
}

int Segment::TakeIn(int room, bool leaves, Account& account) {
  Descriptor* const batch = batch_ ? batch_.get() : lanes_[0].batch();
  const int came = entrances_.Gather(batch, room, leaves, account);
  if (came == 0) return 0;
  int count = came;
  uint64_t since = IsSampled() ? rte_rdtsc() : 0;
  for (size_t hop = 0; hop < hops_.size();) {
    size_t crossed = CrossFused(hop, batch, count);
    if (crossed == 0) {
      const bool waits_on_it = hop + 1 == hops_.size() && lanes_[0].batch_links() != nullptr;
      uint32_t* const links = batch_ ? links_.get() : lanes_[0].batch_links();
      count = hops_[hop]->Cross(batch, count, waits_on_it ? links : nullptr, account.ledger);
      crossed = 1;
    }
    NoteHops(hop, crossed, count, since);
    hop += crossed;
  }
  if (batch_) {
    Scatter(batch, links_.get(), count);
  } else {
    lanes_[0].SetCount(count);
  }
  return came;
}

// `links` has the link of each packet if the lanes ask for it. It is null if the packets left their
// links.
void Segment::Scatter(const Descriptor* batch, const uint32_t* links, int count) {
  if (lane_of_row_.empty()) {
    for (int i = 0; i < count; ++i) {
      const std::vector<uint16_t>& lanes =
          lane_groups_.groups[lane_groups_.group_of_row[batch[i].row]];
      // Packets of one input use one lane, so they keep their order.
      lanes_[lanes.size() == 1 ? lanes[0] : lanes[batch[i].input % lanes.size()]].Add(batch[i]);
    }
  } else if (lanes_[0].batch_links() != nullptr) {
    for (int i = 0; i < count; ++i) {
      lanes_[lane_of_row_[batch[i].row]].Add(batch[i], links != nullptr ? links[i] : Lane::kNoLink);
    }
  } else {
    for (int i = 0; i < count; ++i) lanes_[lane_of_row_[batch[i].row]].Add(batch[i]);
  }
}

int Segment::SendOut(const Descriptor* packets, int count) {
  for (const Lane& lane : lanes_) count = std::min(count, lane.room());
  if (batch_) {
    Scatter(packets, nullptr, count);
  } else {
    lanes_[0].Append(packets, nullptr, count);
  }
  return count;
}

uint64_t Segment::Sample(size_t hop, size_t stages, int count, uint64_t since) {
  const uint64_t now = rte_rdtsc();
  HopMeter& meter = stages == 1 ? samples_[hop].single : samples_[hop].in_one_step;
  meter.Add(stages * static_cast<uint64_t>(count), now - since);
  return now;
}

void Segment::AddCosts(std::vector<StageCost>& costs) const {
  const auto add = [&costs](int first, int stages, const HopCycles& sampled) {
    if (sampled.hops == 0) return;
    const auto same = std::find_if(costs.begin(), costs.end(), [&](const StageCost& cost) {
      return cost.first_stage == first && cost.stages == stages;
    });
    StageCost& cost =
        same != costs.end()
            ? *same
            : costs.emplace_back(StageCost{.first_stage = first, .stages = stages, .sampled = {}});
    cost.sampled.hops += sampled.hops;
    cost.sampled.cycles += sampled.cycles;
  };
  for (size_t hop = 0; hop < hops_.size(); ++hop) {
    add(hops_[hop]->number(), 1, samples_[hop].single.Read());
    if (fused_[hop] != nullptr)
      add(hops_[hop]->number(), fused_[hop]->stages(), samples_[hop].in_one_step.Read());
  }
}

uint64_t Segment::held() const {
  uint64_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.held();
  return sum;
}

uint64_t Segment::Discard() {
  uint64_t sum = 0;
  for (Lane& lane : lanes_) sum += lane.Discard();
  return sum + entrances_.Discard();
}

}  // namespace bfly::dataplane
