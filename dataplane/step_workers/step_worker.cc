// SPDX-License-Identifier: Apache-2.0
#include "dataplane/step_workers/step_worker.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "dataplane/core/tsc_hz.h"
#include "dataplane/step_workers/stage_crew.h"

namespace bfly::dataplane {
namespace {

// A worker that waits for others in this many passes lets another thread of its CPU run: it may be
// the worker that all wait for.
constexpr uint32_t kPassesBeforeYield = 64;
// A burst of frames leaves in a pass if no more packets than these wait behind the last hop, so
// that frames do not overflow the buffer of a port. A port whose buffer stays full of data takes a
// burst every 0.1 s all the same, and drops what does not fit.
constexpr uint64_t kCrowd = kBurst;
constexpr double kCrowdSeconds = 0.1;

}  // namespace

StepWorker::StepWorker(int index, StageCrew& crew, const StepRound& round, PacketTraffic& traffic,
                       const std::vector<int>& owner_of_block, int workers)
    : index_(index),
      crew_(crew),
      round_(round),
      traffic_(traffic),
      owner_of_block_(owner_of_block),
      given_(static_cast<size_t>(workers)),
      taken_(static_cast<size_t>(workers)),
      given_published_(std::make_unique<std::atomic<uint64_t>[]>(static_cast<size_t>(workers))) {}

void StepWorker::AddBlock(size_t block, std::vector<Stage*> stages, Segment* way_out) {
  const auto leads_there = [way_out](const WayOut& way) { return way.segment == way_out; };
  auto way = std::find_if(ways_out_.begin(), ways_out_.end(), leads_there);
  if (way == ways_out_.end() && way_out != nullptr) {
    way = ways_out_.insert(way, WayOut{.segment = way_out});
  }
  blocks_.push_back({.number = block,
                     .first_level = traffic_.map().blocks()[block].first_level,
                     .stages = std::move(stages),
                     .way_out = static_cast<size_t>(way - ways_out_.begin())});
}

void StepWorker::Lead() {
  if (index_ == 0) crew_.LeadIfPosted();
}

void StepWorker::TakeOver(Ledger& ledger) {
  const auto self = static_cast<size_t>(index_);
  for (size_t w = 0; w < peers_.size(); ++w) {
    if (w == self) continue;
    const uint64_t given = peers_[w]->given_published_[self].load(std::memory_order_acquire);
    const uint64_t more = given - taken_[w];
    taken_[w] = given;
    ledger.taken_over += more;
    held_ += more;
  }
}

void StepWorker::SendFrames() {
  uint64_t waiting = frames_waiting();
  if (waiting == 0) return;
  for (WayOut& way : ways_out_) {
    const size_t rest = way.waiting.size() - way.next;
    if (rest == 0) continue;
    if (way.crowded_since != 0 && static_cast<double>(rte_rdtsc() - way.crowded_since) <
                                      kCrowdSeconds * static_cast<double>(TscHz())) {
      continue;
    }
    way.crowded_since = 0;
    const int offered = static_cast<int>(std::min<size_t>(rest, kBurst));
    const auto sent = static_cast<uint64_t>(way.segment->SendOut(&way.waiting[way.next], offered));
    way.next += sent;
    waiting -= sent;
    held_ -= sent;
    if (way.next < way.waiting.size()) continue;
    way.waiting.clear();
    way.next = 0;
  }
  frames_waiting_.store(waiting, std::memory_order_relaxed);
}

// Called when the segments have settled: the packets that they still hold were not taken.
void StepWorker::LookForCrowd(WayOut& way) {
  if (way.segment->held() <= kCrowd) {
    way.crowded_since = 0;
  } else if (way.crowded_since == 0) {
    way.crowded_since = rte_rdtsc();
  }
}

uint64_t StepWorker::Work(Ledger& ledger) {
  if (frames_waiting() > 0) {
    for (WayOut& way : ways_out_) LookForCrowd(way);
  }
  // A worker that sees the number of a round also sees all packets that it was given in earlier
  // rounds. If TakeOver came first, packets given in between would stay held after a round that
  // drops packets.
  const uint64_t number = round_.number.load(std::memory_order_acquire);
  TakeOver(ledger);
  if (number != in_round_) {
    in_round_ = number;
    next_block_ = 0;
    all_done_ = false;
  }
  if (all_done_) {
    if (++waits_ % kPassesBeforeYield == 0) sched_yield();
    return held_;
  }
  waits_ = 0;
  if (round_.kind == StepRound::Kind::kParts) {
    if (next_block_ < blocks_.size()) RunPart(blocks_[next_block_++], ledger);
    all_done_ = next_block_ == blocks_.size();
  } else {
    if (round_.kind == StepRound::Kind::kDiscard) Drop(round_.reason, ledger);
    all_done_ = true;
  }
  return held_;
}

void StepWorker::RunPart(const Block& block, Ledger& ledger) {
  BlockTraffic& traffic = traffic_.of_block(block.number);
  ledger.injected += traffic.begun;
  held_ += traffic.begun;
  traffic.begun = 0;
  StepFrames* const frames = crew_.frames();
  if (frames != nullptr) MakeFrames(traffic, *frames);
  const uint32_t bytes = frames != nullptr ? frames->bytes() : kStepPacketBytes;
  round_.call(round_.context, index_, block.number);
  const BlockMap& map = traffic_.map();
  const int outputs = map.levels() - 1;
  const uint64_t now = frames != nullptr ? rte_rdtsc() : 0;
  for (const BlockTraffic::Crossing& crossing : traffic.crossings) {
    block.stages[static_cast<size_t>(crossing.hop - block.first_level)]->CountCrossing(
        crossing.link, bytes);
    if (crossing.hop + 1 == outputs) {
      if (frames != nullptr && SendFrame(block, crossing, now, *frames)) continue;
      ++ledger.delivered;
      --held_;
      continue;
    }
    const auto owner =
        static_cast<size_t>(owner_of_block_[map.BlockOf(crossing.hop + 1, crossing.head)]);
    if (owner == static_cast<size_t>(index_)) continue;
    ++given_[owner];
    ++ledger.handed_on;
    --held_;
  }
  traffic.crossings.clear();
}

void StepWorker::MakeFrames(BlockTraffic& traffic, StepFrames& frames) {
  if (traffic.beginnings.empty()) return;
  const uint64_t now = rte_rdtsc();
  for (const BlockTraffic::Beginning& beginning : traffic.beginnings) {
    frames.Begin(beginning.packet, beginning.input, now, frame_counts_);
  }
  traffic.beginnings.clear();
}

// Whether the packet leaves by a host port. If so, it is held until a segment has taken it.
bool StepWorker::SendFrame(const Block& block, const BlockTraffic::Crossing& crossing, uint64_t now,
                           StepFrames& frames) {
  const Descriptor packet = frames.Take(crossing.packet, crossing.head, now);
  if (packet.mbuf == nullptr) return false;
  if (!frames.has_port(crossing.head)) {
    rte_pktmbuf_free(packet.mbuf);
    ++frame_counts_.to_sinks;
    return false;
  }
  WayOut& way = ways_out_[block.way_out];
  if (way.waiting.empty()) LookForCrowd(way);
  way.waiting.push_back(packet);
  ++frame_counts_.to_ports;
  frames_waiting_.store(frames_waiting() + 1, std::memory_order_relaxed);
  return true;
}

void StepWorker::Published() {
  for (size_t w = 0; w < peers_.size(); ++w) {
    if (given_published_[w].load(std::memory_order_relaxed) == given_[w]) continue;
    given_published_[w].store(given_[w], std::memory_order_release);
  }
  if (all_done_ && done_.load(std::memory_order_relaxed) != in_round_) {
    done_.store(in_round_, std::memory_order_release);
  }
}

void StepWorker::Drop(DropReason reason, Ledger& ledger) {
  // What has begun and was never run in a part has not been injected.
  for (const Block& block : blocks_) traffic_.of_block(block.number).Clear();
  for (WayOut& way : ways_out_) {
    for (; way.next < way.waiting.size(); ++way.next) rte_pktmbuf_free(way.waiting[way.next].mbuf);
    way.waiting.clear();
    way.next = 0;
  }
  frames_waiting_.store(0, std::memory_order_relaxed);
  ledger.Drop(reason, std::exchange(held_, 0));
}

void StepWorker::Discard(Ledger& ledger) {
  TakeOver(ledger);
  Drop(DropReason::kUnloaded, ledger);
}

}  // namespace bfly::dataplane
