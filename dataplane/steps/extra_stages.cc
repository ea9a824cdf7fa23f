// SPDX-License-Identifier: Apache-2.0
// An engine for butterflies with extra stages alone, level by level instead of step by step.
//
// No queue is ever full, so a buffer is empty again in the step after it was filled. All packets
// start in queues. So packets cross links in odd steps and leave buffers in even ones; only links
// into outputs, which have no buffers, carry packets in any step. Nothing that happens at a level
// depends on later levels. What a link does follows from when packets came to its queue: a level is
// worked through for the whole run before the next one begins. A round is an odd step and the even
// step behind it.
#include "dataplane/steps/extra_stages.h"

#include <algorithm>
#include <array>

#include "dataplane/steps/extra_stages_rule.h"
#include "topologies/crew.h"

namespace bfly::dataplane {
namespace {

constexpr size_t kRowsPerPart = 32;

// The packets that crossed one link, in the order of their rounds.
struct Crossed {
  size_t first = 0;  // where they stand
  // How many of them go on in each direction.
  std::array<uint32_t, kDirections> toward{};
  size_t count() const { return size_t{toward[0]} + toward[1]; }
};

// What a worker found at the outputs and links that it worked through.
struct alignas(64) Tally {
  uint64_t latency_sum = 0;
  uint32_t congestion = 0;
  uint32_t node_congestion = 0;
  std::vector<uint32_t> last;  // by permutation: the step of the last delivery
};

// The queue of one link, in order of arrival. `slot` counts the times at which the link can carry a
// packet: rounds, or steps on links into outputs.
class FifoQueue {
 public:
  void Begin(size_t) { last_ = 0; }
  template <typename Cross>
  void Come(const ExtraPacket& packet, uint32_t slot, Cross&& cross) {
    last_ = std::max(last_ + 1, slot);
    cross(packet, last_);
  }
  template <typename Cross>
  void Finish(Cross&&) {}

 private:
  uint32_t last_ = 0;
};

// The queue of one link, by priority and then in order of arrival: a binary heap of numbers that
// hold both. Key is wide enough for the priority and 32 bits more. A packet that comes after one
// has crossed takes its place at the top and sinks from there, which is one walk instead of two.
template <typename Key>
class PriorityQueue {
 public:
  // Up to `most` packets come.
  void Begin(size_t most) {
    if (packets_.size() < most) {
      packets_.resize(most);
      heap_.resize(most + 1);
    }
    arrivals_ = 0;
    next_ = 1;
  }
  // Packets come in the order of their slots.
  template <typename Cross>
  void Come(const ExtraPacket& packet, uint32_t slot, Cross&& cross) {
    while (waiting_ > 0 && next_ < slot) CrossFirst(cross);
    next_ = std::max(next_, slot);
    packets_[arrivals_] = packet;
    Push(static_cast<Key>(packet.priority) << 32 | arrivals_++);
  }
  template <typename Cross>
  void Finish(Cross&& cross) {
    while (waiting_ > 0) CrossFirst(cross);
  }

 private:
  template <typename Cross>
  void CrossFirst(Cross&& cross) {
    if (open_) Sink(heap_[waiting_ + 1]);
    cross(packets_[static_cast<uint32_t>(heap_[1])], next_++);
    open_ = --waiting_ > 0;
  }

  void Push(Key key) {
    ++waiting_;
    if (open_) {
      open_ = false;
      Sink(key);
      return;
    }
    size_t at = waiting_;
    for (; at > 1 && key < heap_[at / 2]; at /= 2) heap_[at] = heap_[at / 2];
    heap_[at] = key;
  }
  // Puts the key into the heap of waiting_ numbers whose top is free.
  void Sink(Key key) {
    size_t at = 1;
    for (size_t below = 2; below <= waiting_; below *= 2) {
      if (below < waiting_) below += heap_[below + 1] < heap_[below];
      if (key <= heap_[below]) break;
      heap_[at] = heap_[below];
      at = below;
    }
    heap_[at] = key;
  }

  std::vector<ExtraPacket> packets_;  // in the order of arrival
  std::vector<Key> heap_;  // from 1 on; heap_[i] is not above heap_[2i] and heap_[2i + 1]
  size_t waiting_ = 0;
  bool open_ = false;  // the top has crossed, and the heap has one number more than waiting_
  uint32_t arrivals_ = 0;
  uint32_t next_ = 1;  // the first slot that is not taken
};

__extension__ using WideKey = unsigned __int128;

template <typename Queue>
class LevelByLevel {
 public:
  LevelByLevel(const Network& network, const ExtraStagesConfig& config,
               std::vector<uint32_t>* crossings)
      : network_(network),
        config_(config),
        rows_(network.rows()),
        here_(PacketsOf(network, config)),
        ahead_(here_.size()),
        links_(size_t{2} * rows_),
        links_ahead_(links_.size()),
        first_(size_t{rows_} + 1),
        crew_(config.workers),
        queues_(static_cast<size_t>(config.workers)),
        tallies_(static_cast<size_t>(config.workers)),
        crossings_(crossings) {
    for (Tally& tally : tallies_) tally.last.resize(config.permutations);
    if (crossings_ != nullptr) {
      crossings_->assign(here_.size() * static_cast<size_t>(network.hops()), 0);
    }
  }

  ExtraStagesResult Run() {
    StandAtInputs();
    for (level_ = 0; level_ < network_.hops(); ++level_) {
      PlaceNodes();
      crew_.ForEachPart(rows_, kRowsPerPart, [this](int worker, size_t first, size_t last) {
        for (size_t row = first; row < last; ++row) {
          PassNode(static_cast<Row>(row), static_cast<size_t>(worker));
        }
      });
      here_.swap(ahead_);
      links_.swap(links_ahead_);
    }
    return Result();
  }

 private:
  using Queues = std::array<Queue, kDirections>;

  // The packets of an input stand in its queues as if they had crossed a link before the first
  // round.
  void StandAtInputs() {
    const uint32_t count = config_.permutations;
    for (Row row = 0; row < rows_; ++row) {
      Crossed& start = links_[row];
      start.first = size_t{row} * count;
      for (uint32_t q = 0; q < count; ++q) ++start.toward[here_[start.first + q].path & 1];
    }
  }

  // The packets that came to a node of the level, from one or two links; the lower row first.
  std::array<Crossed, 2> ComeTo(Row row) const {
    if (level_ == 0) return {links_[row], Crossed{}};
    const uint32_t mask = network_.wiring(level_ - 1).mask;
    const size_t direction = (row & mask) != 0;
    return {links_[2 * size_t{row & ~mask} + direction],
            links_[2 * size_t{row | mask} + direction]};
  }

  // Packets stand at the next level in the order of the nodes that they leave.
  void PlaceNodes() {
    size_t first = 0;
    for (Row row = 0; row < rows_; ++row) {
      first_[row] = first;
      for (const Crossed& came : ComeTo(row)) first += came.count();
    }
    first_[rows_] = first;
  }

  void PassNode(Row row, size_t worker) {
    if (level_ + 1 < network_.hops()) {
      PassNodeTo<false>(row, queues_[worker], tallies_[worker]);
    } else {
      PassNodeTo<true>(row, queues_[worker], tallies_[worker]);
    }
  }

  template <bool kIntoOutputs>
  void PassNodeTo(Row row, Queues& queues, Tally& tally) {
    const std::array<Crossed, 2> came = ComeTo(row);
    const size_t first = first_[row];
    const std::array<uint32_t, 2> count = {came[0].toward[0] + came[1].toward[0],
                                           came[0].toward[1] + came[1].toward[1]};
    tally.congestion = std::max({tally.congestion, count[0], count[1]});
    if (level_ > 0) tally.node_congestion = std::max(tally.node_congestion, count[0] + count[1]);
    Crossed* const out = &links_ahead_[2 * size_t{row}];
    out[0] = {.first = first, .toward = {}};
    out[1] = {.first = first + count[0], .toward = {}};
    std::array<ExtraPacket*, 2> next = {&ahead_[0] + out[0].first, &ahead_[0] + out[1].first};

    const auto cross = [&](const ExtraPacket& packet, uint32_t slot) {
      if constexpr (kIntoOutputs) {
        tally.latency_sum += slot;
        uint32_t& last = tally.last[packet.number / rows_];
        last = std::max(last, slot);
        Record(packet, slot);
      } else {
        const size_t direction = packet.path >> level_ & 1;
        ++out[direction].toward[packet.path >> (level_ + 1) & 1];
        ExtraPacket* const to = next[direction]++;
        *to = packet;
        to->crossed = slot;
        Record(packet, 2 * slot - 1);
      }
    };
    for (size_t i = 0; i < 2; ++i) queues[i].Begin(count[i]);
    ForEachInOrder(came, [&](const ExtraPacket& packet) {
      const uint32_t slot = kIntoOutputs ? 2 * packet.crossed + 1 : packet.crossed + 1;
      queues[packet.path >> level_ & 1].Come(packet, slot, cross);
    });
    for (Queue& queue : queues) queue.Finish(cross);
  }

  // In the order of their rounds; the packets that came over the first link first.
  template <typename Visit>
  void ForEachInOrder(const std::array<Crossed, 2>& came, Visit&& visit) const {
    const ExtraPacket* one = here_.data() + came[0].first;
    const ExtraPacket* const one_end = one + came[0].count();
    const ExtraPacket* two = here_.data() + came[1].first;
    const ExtraPacket* const two_end = two + came[1].count();
    while (one != one_end && two != two_end) {
      // Which of them is first is a matter of chance: the compiler makes no jump of this.
      const bool second = two->crossed < one->crossed;
      const ExtraPacket* const first = second ? two : one;
      two += second;
      one += !second;
      visit(*first);
    }
    while (one != one_end) visit(*one++);
    while (two != two_end) visit(*two++);
  }

  void Record(const ExtraPacket& packet, uint32_t step) {
    if (crossings_ == nullptr) return;
    (*crossings_)[static_cast<size_t>(level_) * here_.size() + packet.number] = step;
  }

  ExtraStagesResult Result() const {
    ExtraStagesResult result;
    result.packets = here_.size();
    result.hops = here_.size() * static_cast<uint64_t>(network_.hops());
    result.finished.resize(config_.permutations);
    uint64_t latency_sum = 0;
    for (const Tally& tally : tallies_) {
      latency_sum += tally.latency_sum;
      result.congestion = std::max(result.congestion, tally.congestion);
      result.node_congestion = std::max(result.node_congestion, tally.node_congestion);
      for (size_t q = 0; q < tally.last.size(); ++q) {
        result.finished[q] = std::max<uint64_t>(result.finished[q], tally.last[q]);
      }
    }
    for (size_t q = 1; q < result.finished.size(); ++q) {
      result.finished[q] = std::max(result.finished[q], result.finished[q - 1]);
    }
    result.max_latency = result.steps = result.finished.back();
    result.mean_latency = static_cast<double>(latency_sum) / static_cast<double>(result.packets);
    return result;
  }

  const Network& network_;
  const ExtraStagesConfig& config_;
  const Row rows_;
  std::vector<ExtraPacket> here_;   // of the level, by link
  std::vector<ExtraPacket> ahead_;  // of the next level
  std::vector<Crossed> links_;      // into the level: 2 * row of the tail + direction
  std::vector<Crossed> links_ahead_;
  std::vector<size_t> first_;  // by row: where the packets that leave the node stand
  Crew crew_;
  std::vector<Queues> queues_;  // by worker
  std::vector<Tally> tallies_;
  std::vector<uint32_t>* const crossings_;
  int level_ = 0;
};

}  // namespace

absl::StatusOr<ExtraStagesResult> RunExtraStages(const Network& network,
                                                 const ExtraStagesConfig& config,
                                                 std::vector<uint32_t>* crossings) {
  if (absl::Status status = CheckExtraStages(network, config); !status.ok()) return status;
  if (config.model != NodeModel::kHalfRate)
    return RunExtraStagesInSteps(network, config, crossings);
  if (config.order == QueueOrder::kFifo) {
    return LevelByLevel<FifoQueue>(network, config, crossings).Run();
  }
  if (LargestPriority(network, config) < uint64_t{1} << 32) {
    return LevelByLevel<PriorityQueue<uint64_t>>(network, config, crossings).Run();
  }
  return LevelByLevel<PriorityQueue<WideKey>>(network, config, crossings).Run();
}

}  // namespace bfly::dataplane
