// SPDX-License-Identifier: Apache-2.0
#include "dataplane/step_workers/stage_crew.h"

#include <algorithm>
#include <utility>

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

// While a worker runs a part, its other packets wait. So a block has about kNodesOfBlock nodes at
// most. But a packet from one block to another costs more than a packet within a block.
constexpr uint64_t kNodesOfBlock = uint64_t{1} << 15;
constexpr uint64_t kMostBarriers = 10'000;
// Seconds. The measurement ends after this time even if other threads use the workers' CPUs and
// slow the barriers down.
constexpr double kLongestMeasurement = 1;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

struct StageCrew::Cut {
  std::vector<NodeBlock> blocks;
  std::vector<int> owners;        // for each block: an index in plan_workers
  std::vector<int> plan_workers;  // the workers of the plan that own blocks
};

// A segment of the plan is a rectangle of nodes; those that end at the last hop have the outputs
// of their rows too. The first segment begins at the inputs, so its worker has index 0.
StageCrew::Cut StageCrew::CutOf(const Network& network, const FabricPlan& plan) {
  Cut cut;
  for (const SegmentPlan& segment : plan.segments) {
    auto owner = std::find(cut.plan_workers.begin(), cut.plan_workers.end(), segment.worker);
    if (owner == cut.plan_workers.end()) owner = cut.plan_workers.insert(owner, segment.worker);
    const int end = segment.end() == network.hops() ? network.hops() + 1 : segment.end();
    const Row last = std::min(segment.rows.last, network.rows() - 1);
    const auto levels = static_cast<uint64_t>(end - segment.first_hop);
    const uint64_t rows = std::max<uint64_t>(64, kNodesOfBlock / levels / 64 * 64);
    for (uint64_t first = segment.rows.first; first <= last; first += rows) {
      const uint64_t end_row = std::min<uint64_t>(first + rows, uint64_t{last} + 1);
      cut.blocks.push_back(
          {segment.first_hop, end, static_cast<Row>(first), static_cast<Row>(end_row)});
      cut.owners.push_back(static_cast<int>(owner - cut.plan_workers.begin()));
    }
  }
  return cut;
}

StageCrew::StageCrew(const Network& network, const FabricPlan& plan, const StageOf& stage_of,
                     const WayOutOf& way_out_of)
    : StageCrew(network, stage_of, way_out_of, CutOf(network, plan)) {}

StageCrew::StageCrew(const Network& network, const StageOf& stage_of, const WayOutOf& way_out_of,
                     Cut cut)
    : Crew(static_cast<int>(cut.plan_workers.size()), std::move(cut.blocks)),
      traffic_(network, blocks()),
      owner_of_block_(std::move(cut.owners)),
      plan_workers_(std::move(cut.plan_workers)) {
  for (int w = 0; w < workers(); ++w) {
    workers_.push_back(
        std::make_unique<StepWorker>(w, *this, round_, traffic_, owner_of_block_, workers()));
  }
  std::vector<const StepWorker*> peers;
  for (const auto& worker : workers_) peers.push_back(worker.get());
  for (const auto& worker : workers_) worker->SetPeers(peers);
  for (size_t block = 0; block < blocks().size(); ++block) {
    const NodeBlock& nodes = blocks()[block];
    std::vector<Stage*> stages;
    for (int hop = nodes.first_level; hop < std::min(nodes.end_level, network.hops()); ++hop) {
      stages.push_back(&stage_of(network.stage_of_hop(hop), nodes.first_row));
    }
    Segment* const way_out =
        nodes.end_level > network.hops() ? &way_out_of(nodes.first_row) : nullptr;
    workers_[static_cast<size_t>(owner_of_block_[block])]->AddBlock(block, std::move(stages),
                                                                    way_out);
  }
}

StepWorker* StageCrew::worker(int plan_worker) const {
  const auto it = std::find(plan_workers_.begin(), plan_workers_.end(), plan_worker);
  return it == plan_workers_.end()
             ? nullptr
             : workers_[static_cast<size_t>(it - plan_workers_.begin())].get();
}

void StageCrew::Attach(std::function<void()> pass, std::function<void()> begin,
                       std::function<void()> end) {
  pass_ = std::move(pass);
  begin_ = std::move(begin);
  end_ = std::move(end);
}

void StageCrew::Reset(StepFrames* frames) {
  set_given_up(false);
  frames_ = frames;
  traffic_.set_lists_beginnings(frames != nullptr);
  for (const auto& worker : workers_) worker->ResetFrameCounts();
  times_ = {};
  cause_.store(StepEndCause::kNone, std::memory_order_release);
}

void StageCrew::GiveUp(StepEndCause cause) {
  StepEndCause none = StepEndCause::kNone;
  cause_.compare_exchange_strong(none, cause, std::memory_order_acq_rel);
}

std::vector<int> StageCrew::Late() const {
  std::vector<int> late;
  const uint64_t round = round_.number.load(std::memory_order_acquire);
  for (size_t w = 0; w < workers_.size(); ++w) {
    if (workers_[w]->done() < round) late.push_back(plan_workers_[w]);
  }
  if (late.empty()) late.push_back(plan_workers_[0]);
  return late;
}

// The thread that called RunRoute sleeps until a worker has led the program.
void StageCrew::DoLead(const Call& call) {
  led_ = call;
  begin_();
  int idle = kIdle;
  if (state_.compare_exchange_strong(idle, kPosted, std::memory_order_acq_rel)) {
    for (int state;
         (state = state_.load(std::memory_order_acquire)) == kPosted || state == kLeading;) {
      state_.wait(state, std::memory_order_acquire);
    }
  }
  // The program counts as given up also if the workers stopped before they saw it.
  if (cause() == StepEndCause::kUnloaded) set_given_up(true);
  end_();
}

void StageCrew::Close() {
  state_.store(kClosed, std::memory_order_release);
  state_.notify_all();
}

void StageCrew::LeadIfPosted() {
  int posted = kPosted;
  if (state_.load(std::memory_order_relaxed) != kPosted ||
      !state_.compare_exchange_strong(posted, kLeading, std::memory_order_acquire)) {
    return;
  }
  const uint64_t rounds = this->rounds();
  const Clock::time_point start = Clock::now();
  led_(0, 0);
  times_.seconds = Since(start);
  times_.barriers = this->rounds() - rounds;
  for (size_t block = 0; block < blocks().size(); ++block) {
    times_.last_step = std::max(times_.last_step, traffic_.of_block(block).last_step);
    traffic_.of_block(block).last_step = 0;
  }
  LetFramesLeave();
  round_.reason =
      cause() == StepEndCause::kLinkChanged ? DropReason::kLinkDown : DropReason::kUnloaded;
  Round(StepRound::Kind::kDiscard);
  if (frames_ != nullptr) frames_->Discard();
  if (!given_up()) MeasureBarrier();
  state_.store(kIdle, std::memory_order_release);
  state_.notify_all();
}

// Every worker makes at least one pass in a round, and frames that a port does not take are dropped
// there. So this ends.
void StageCrew::LetFramesLeave() {
  const auto waits = [](const auto& worker) { return worker->frames_waiting() > 0; };
  while (std::any_of(workers_.begin(), workers_.end(), waits)) {
    if (cause() != StepEndCause::kNone) return set_given_up(true);
    Round(StepRound::Kind::kEmpty);
  }
}

StepFrameCounts StageCrew::frame_counts() const {
  StepFrameCounts sum;
  for (const auto& worker : workers_) sum.Add(worker->frame_counts());
  return sum;
}

void StageCrew::MeasureBarrier() {
  const uint64_t wanted = std::max(fewest_barriers_, std::min(times_.barriers, kMostBarriers));
  const Clock::time_point start = Clock::now();
  uint64_t made = 0;
  double seconds = 0;
  while (made < wanted && seconds < kLongestMeasurement && cause() == StepEndCause::kNone) {
    Round(StepRound::Kind::kEmpty);
    ++made;
    if (made % 64 == 0) seconds = Since(start);
  }
  if (made > 0) times_.barrier_seconds = Since(start) / static_cast<double>(made);
}

void StageCrew::Do(size_t count, const Call& call) {
  if (given_up()) return;
  if (cause() != StepEndCause::kNone) return set_given_up(true);
  if (count != blocks().size()) {
    for (size_t index = 0; index < count; ++index) call(0, index);
    return;
  }
  round_.call = call.call;
  round_.context = call.context;
  Round(StepRound::Kind::kParts);
}

void StageCrew::Round(StepRound::Kind kind) {
  round_.kind = kind;
  const uint64_t number = rounds() + 1;
  round_.number.store(number, std::memory_order_release);
  const auto is_late = [number](const auto& worker) { return worker->done() < number; };
  do {
    pass_();
  } while (std::any_of(workers_.begin(), workers_.end(), is_late));
}

}  // namespace bfly::dataplane
