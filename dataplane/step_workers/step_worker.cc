// SPDX-License-Identifier: Apache-2.0
#include "dataplane/step_workers/step_worker.h"

#include <sched.h>

#include <utility>

#include "dataplane/step_workers/stage_crew.h"

namespace bfly::dataplane {
namespace {

// A worker that waits for others in so many passes lets another thread of its CPU run: it may be
// the worker that all wait for.
constexpr uint32_t kPassesBeforeYield = 64;

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

void StepWorker::AddBlock(size_t block, std::vector<Stage*> stages) {
  blocks_.push_back({block, traffic_.map().blocks()[block].first_level, std::move(stages)});
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

uint64_t StepWorker::Work(Ledger& ledger) {
  TakeOver(ledger);
  const uint64_t number = round_.number.load(std::memory_order_acquire);
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
  round_.call(round_.context, index_, block.number);
  const BlockMap& map = traffic_.map();
  const int outputs = map.levels() - 1;
  for (const BlockTraffic::Crossing& crossing : traffic.crossings) {
    block.stages[static_cast<size_t>(crossing.hop - block.first_level)]->CountCrossing(
        crossing.link, kStepPacketBytes);
    if (crossing.hop + 1 == outputs) {
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
  ledger.Drop(reason, std::exchange(held_, 0));
}

void StepWorker::Discard(Ledger& ledger) {
  TakeOver(ledger);
  Drop(DropReason::kUnloaded, ledger);
}

}  // namespace bfly::dataplane
