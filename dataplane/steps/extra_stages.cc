// SPDX-License-Identifier: Apache-2.0
// An engine for butterflies with extra stages alone, level by level instead of step by step.
//
// No queue is ever full, so a buffer is empty again in the step after it was filled. All packets
// start in queues. So packets cross links in odd steps and leave buffers in even ones; only links
// into outputs, which have no buffers, carry packets in any step. Nothing that happens at a level
// depends on later levels. What a link does follows from when packets came to its queue: a level is
// worked through for the whole run before the next one begins. A round is an odd step and the even
// step behind it.
//
// A queue is worked through by priority and not by time. No packet waits for one that goes behind
// it, and a link is never idle while a packet waits. So the packet that goes before all others of a
// queue takes the first slot of the link after its arrival, the next packet takes the first slot
// after its own arrival that is left, and so on. No queue is sorted: packets of the same priority
// come to a queue in some order and cross in this order. So what crossed a link stands by priority
// and then by round, and a node merges what came over its two links.
#include "dataplane/steps/extra_stages.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>

#include "dataplane/steps/extra_packets.h"
#include "dataplane/steps/extra_stages_rule.h"
#include "topologies/crew.h"
#include "topologies/page_array.h"

namespace bfly::dataplane {
namespace {

constexpr size_t kRowsPerPart = 32;

// A packet at a node. Queues are ordered by Order(): by priority, and for equal priorities by the
// round in which the packet crossed its last link. Bit 0 of the path is the direction of the next
// hop.
struct NarrowPacket {
  static bool Fits(const Network& network, uint64_t largest_priority) {
    return network.hops() <= 32 && largest_priority < uint64_t{1} << 32;
  }
  static NarrowPacket Of(const ExtraPacket& packet) {
    return {packet.priority << 32, static_cast<uint32_t>(packet.path), packet.number};
  }
  uint64_t Order() const { return order; }
  uint32_t crossed() const { return static_cast<uint32_t>(order); }
  NarrowPacket Crossed(uint32_t round) const {
    return {order >> 32 << 32 | round, path >> 1, number};
  }

  uint64_t order;  // the priority, and in the low 32 bits the round
  uint32_t path;
  uint32_t number;
};
static_assert(sizeof(NarrowPacket) == 16);

// A packet at a node, for any network and any priority.
struct WidePacket {
  __extension__ using Key = unsigned __int128;
  static WidePacket Of(const ExtraPacket& packet) {
    return {packet.priority, packet.path, packet.number, 0};
  }
  Key Order() const { return static_cast<Key>(priority) << 32 | round; }
  uint32_t crossed() const { return round; }
  WidePacket Crossed(uint32_t in_round) const { return {priority, path >> 1, number, in_round}; }

  uint64_t priority;
  uint64_t path;
  uint32_t number;
  uint32_t round;
};

// The packets that crossed one link, by Order().
struct Crossed {
  size_t first = 0;  // where they stand
  // How many of these packets go on in each direction.
  std::array<uint32_t, kDirections> toward{};
  uint32_t last = 0;  // the last round in which one of these packets crossed
  size_t count() const { return size_t{toward[0]} + toward[1]; }
};

// The times at which a link carries packets, as bits: rounds, or steps on links into outputs.
class LinkSlots {
 public:
  // No slot is taken. Every slot that Take() is going to return is below `end`.
  void Begin(size_t end) {
    words_ = end / 64 + 1;
    if (taken_.size() < words_) {
      taken_.resize(words_);
      behind_.resize(words_);
    }
    std::fill_n(taken_.begin(), words_, 0);
    std::iota(behind_.begin(), behind_.begin() + static_cast<std::ptrdiff_t>(words_), 1);
  }
  // Takes the first free slot from `slot` on.
  uint32_t Take(uint32_t slot) {
    uint32_t word = slot / 64;
    uint64_t free = ~taken_[word] & ~uint64_t{0} << slot % 64;
    if (free == 0) {
      word = NotFullBehind(word);
      free = ~taken_[word];
    }
    taken_[word] |= free & -free;
    return 64 * word + static_cast<uint32_t>(std::countr_zero(free));
  }
  // The last slot that is taken. At least one slot is taken.
  uint32_t last() const {
    size_t word = words_ - 1;
    while (taken_[word] == 0) --word;
    return static_cast<uint32_t>(64 * word + static_cast<size_t>(std::bit_width(taken_[word])) - 1);
  }

 private:
  bool full(uint32_t word) const { return ~taken_[word] == 0; }
  // The first word behind `word` that is not full. Every step halves the way for later calls, so
  // that thousands of packets in a queue cost little more than a few.
  uint32_t NotFullBehind(uint32_t word) {
    uint32_t at = word + 1;
    while (full(at)) {
      if (full(behind_[at])) behind_[at] = behind_[behind_[at]];
      at = behind_[at];
    }
    return at;
  }

  std::vector<uint64_t> taken_;  // 64 slots in each word
  // For each word: if the word is full, all words from it up to this value are full.
  std::vector<uint32_t> behind_;
  size_t words_ = 0;
};

// The memory of a worker, and what it found at the outputs and links that it worked through.
struct alignas(64) Worker {
  std::array<LinkSlots, kDirections> slots;
  uint64_t latency_sum = 0;
  uint32_t congestion = 0;
  uint32_t node_congestion = 0;
  std::vector<uint32_t> last;  // for each permutation: the step of the last delivery
};

template <typename Packet>
class LevelByLevel {
 public:
  LevelByLevel(const Network& network, const ExtraStagesConfig& config,
               std::vector<uint32_t>* crossings)
      : network_(network),
        config_(config),
        rows_(network.rows()),
        here_(size_t{rows_} * config.permutations),
        ahead_(here_.size()),
        links_(size_t{2} * rows_),
        links_ahead_(links_.size()),
        first_(size_t{rows_} + 1),
        crew_(config.workers),
        workers_(static_cast<size_t>(config.workers)),
        crossings_(crossings) {
    for (Worker& worker : workers_) worker.last.resize(config.permutations);
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
          PassNode(static_cast<Row>(row), workers_[static_cast<size_t>(worker)]);
        }
      });
      std::swap(here_, ahead_);
      links_.swap(links_ahead_);
    }
    return Result();
  }

 private:
  // The packets of an input stand in its queues as if they had crossed a link before the first
  // round.
  void StandAtInputs() {
    const uint32_t count = config_.permutations;
    const PacketDraw draw(network_, config_);
    crew_.ForEachPart(rows_, kRowsPerPart, [&](int, size_t first, size_t last) {
      for (size_t row = first; row < last; ++row) {
        Crossed& start = links_[row];
        start.first = row * count;
        draw.ForEachPlaced(static_cast<Row>(row), [&](uint32_t place, const ExtraPacket& packet) {
          here_[start.first + place] = Packet::Of(packet);
          ++start.toward[packet.path & 1];
        });
      }
    });
  }

  // The packets that came to a node of the level, from one or two links. The link from the lower
  // row is first.
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

  void PassNode(Row row, Worker& worker) {
    if (level_ + 1 < network_.hops()) {
      PassNodeTo<false>(row, worker);
    } else {
      PassNodeTo<true>(row, worker);
    }
  }

  template <bool kIntoOutputs>
  void PassNodeTo(Row row, Worker& worker) {
    const std::array<Crossed, 2> came = ComeTo(row);
    const size_t first = first_[row];
    const std::array<uint32_t, 2> count = {came[0].toward[0] + came[1].toward[0],
                                           came[0].toward[1] + came[1].toward[1]};
    worker.congestion = std::max({worker.congestion, count[0], count[1]});
    if (level_ > 0) worker.node_congestion = std::max(worker.node_congestion, count[0] + count[1]);
    Crossed* const out = &links_ahead_[2 * size_t{row}];
    out[0] = {.first = first};
    out[1] = {.first = first + count[0]};
    std::array<Packet*, 2> next = {ahead_.data() + out[0].first, ahead_.data() + out[1].first};
    const size_t last = std::max(came[0].last, came[1].last);
    for (size_t i = 0; i < 2; ++i) {
      worker.slots[i].Begin((kIntoOutputs ? 2 * last : last) + 1 + count[i]);
    }
    std::array<uint32_t, 2> turn{};
    ForEachInOrder(came, [&](const Packet& packet) {
      const size_t direction = packet.path & 1;
      if constexpr (kIntoOutputs) {
        const uint32_t step = worker.slots[direction].Take(2 * packet.crossed() + 1);
        worker.latency_sum += step;
        uint32_t& delivered = worker.last[packet.number / rows_];
        delivered = std::max(delivered, step);
        Record(packet, step);
      } else {
        const uint32_t round = worker.slots[direction].Take(packet.crossed() + 1);
        const Packet crossed = packet.Crossed(round);
        *next[direction]++ = crossed;
        turn[direction] += crossed.path & 1;
        Record(packet, 2 * round - 1);
      }
    });
    if constexpr (!kIntoOutputs) {
      for (size_t i = 0; i < 2; ++i) {
        out[i].toward = {count[i] - turn[i], turn[i]};
        if (count[i] > 0) out[i].last = worker.slots[i].last();
      }
    }
  }

  // Visits packets by Order(). Among equal packets those that came over the first link are visited
  // first.
  template <typename Visit>
  void ForEachInOrder(const std::array<Crossed, 2>& came, Visit&& visit) const {
    const Packet* one = here_.data() + came[0].first;
    const Packet* const one_end = one + came[0].count();
    const Packet* two = here_.data() + came[1].first;
    const Packet* const two_end = two + came[1].count();
    while (one != one_end && two != two_end) {
      // A branch could not be predicted here, so the code uses a mask instead of a jump.
      const std::ptrdiff_t second = two->Order() < one->Order();
      const Packet* const first = one + ((two - one) & -second);
      two += second;
      one += 1 - second;
      visit(*first);
    }
    while (one != one_end) visit(*one++);
    while (two != two_end) visit(*two++);
  }

  void Record(const Packet& packet, uint32_t step) {
    if (crossings_ == nullptr) return;
    (*crossings_)[static_cast<size_t>(level_) * here_.size() + packet.number] = step;
  }

  ExtraStagesResult Result() const {
    ExtraStagesResult result;
    result.packets = here_.size();
    result.hops = here_.size() * static_cast<uint64_t>(network_.hops());
    result.finished.resize(config_.permutations);
    uint64_t latency_sum = 0;
    for (const Worker& worker : workers_) {
      latency_sum += worker.latency_sum;
      result.congestion = std::max(result.congestion, worker.congestion);
      result.node_congestion = std::max(result.node_congestion, worker.node_congestion);
      for (size_t q = 0; q < worker.last.size(); ++q) {
        result.finished[q] = std::max<uint64_t>(result.finished[q], worker.last[q]);
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
  PageArray<Packet> here_;      // the packets of the level, ordered by link
  PageArray<Packet> ahead_;     // the packets of the next level
  std::vector<Crossed> links_;  // the links into the level; index 2 * row of the tail + direction
  std::vector<Crossed> links_ahead_;
  std::vector<size_t> first_;  // for each row: where the packets that leave the node stand
  Crew crew_;
  std::vector<Worker> workers_;
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
  if (NarrowPacket::Fits(network, LargestPriority(network, config))) {
    return LevelByLevel<NarrowPacket>(network, config, crossings).Run();
  }
  return LevelByLevel<WidePacket>(network, config, crossings).Run();
}

}  // namespace bfly::dataplane
