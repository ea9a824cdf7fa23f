// SPDX-License-Identifier: Apache-2.0
// What one stage worker does for a step program: in each pass, after its data, it runs one part of
// one of its blocks, and turns the moves of the program's packets into counts of its links and its
// ledger.
#pragma once

#include <rte_config.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/core/descriptor.h"
#include "dataplane/core/ledger.h"
#include "dataplane/stages/segment.h"
#include "dataplane/stages/stage.h"
#include "dataplane/step_workers/step_frames.h"
#include "dataplane/steps/packet_traffic.h"

namespace bfly::dataplane {

class StageCrew;

// A packet without a frame counts on links like a source's packet of the usual size.
inline constexpr uint32_t kStepPacketBytes = 64;

// The next task that the leader of a program gives all workers. The leader writes `number` after
// the other members. Workers load `number`, and the other members if it has changed.
struct alignas(RTE_CACHE_LINE_SIZE) StepRound {
  enum class Kind : uint8_t {
    kParts,    // a part of every block
    kEmpty,    // no work
    kDiscard,  // drop the packets that stand at nodes
  };
  std::atomic<uint64_t> number{0};  // leader: release stores, workers: acquire loads
  Kind kind = Kind::kEmpty;
  DropReason reason = DropReason::kUnloaded;  // the reason for kDiscard
  void (*call)(void*, int, size_t) = nullptr;
  void* context = nullptr;
};

// A worker shares no cache line with data that another worker writes.
class alignas(RTE_CACHE_LINE_SIZE) StepWorker {
 public:
  // `owner_of_block` has a worker for each block of the traffic. All arguments outlive the object.
  StepWorker(int index, StageCrew& crew, const StepRound& round, PacketTraffic& traffic,
             const std::vector<int>& owner_of_block, int workers);

  // Adds a block of this worker. stages[i] has the links that leave the block's i-th level; outputs
  // have no links. `way_out` is the worker's segment that carries packets of these rows over the
  // last hop; null if the block does not lead there.
  void AddBlock(size_t block, std::vector<Stage*> stages, Segment* way_out);
  // All workers, by their index. They outlive the object.
  void SetPeers(std::vector<const StepWorker*> peers) { peers_ = std::move(peers); }

  // At the start of a pass: runs a program if this worker leads it and it has been posted.
  void Lead();
  // Once a pass, when the segments have run and before they settle: gives frames that must leave to
  // the segments that lead out.
  void SendFrames();
  // Once a pass, after the data: runs at most one part. Returns how many packets of the program
  // this worker holds: packets at its nodes, and packets with frames that wait to leave.
  uint64_t Work(Ledger& ledger);
  // At the end of a pass, after the account was published.
  void Published();
  // Notes that the worker makes no further pass.
  void Leave() { done_.store(UINT64_MAX, std::memory_order_release); }

  // Any thread: the last round that the worker has completed.
  uint64_t done() const { return done_.load(std::memory_order_acquire); }

  // Any thread: the frames that wait for a way out.
  uint64_t frames_waiting() const { return frames_waiting_.load(std::memory_order_relaxed); }
  // Between runs.
  const StepFrameCounts& frame_counts() const { return frame_counts_; }
  void ResetFrameCounts() { frame_counts_ = {}; }

  // For the thread that unloads, after all workers have stopped: takes over the packets on their
  // way to this worker, and drops all packets that it holds.
  void Discard(Ledger& ledger);

 private:
  struct Block {
    size_t number;
    int first_level;
    std::vector<Stage*> stages;
    size_t way_out;  // index in ways_out_
  };
  // A segment that leads out, and the packets with frames that wait for it, from `next` on.
  struct WayOut {
    Segment* segment;
    std::vector<Descriptor> waiting = {};
    size_t next = 0;
    uint64_t crowded_since = 0;  // TSC since which the segment has held more packets than kCrowd;
                                 // 0: it held no more than that
  };
  void RunPart(const Block& block, Ledger& ledger);
  void MakeFrames(BlockTraffic& traffic, StepFrames& frames);
  bool SendFrame(const Block& block, const BlockTraffic::Crossing& crossing, uint64_t now,
                 StepFrames& frames);
  static void LookForCrowd(WayOut& way);
  void TakeOver(Ledger& ledger);
  void Drop(DropReason reason, Ledger& ledger);

  const int index_;
  StageCrew& crew_;
  const StepRound& round_;
  PacketTraffic& traffic_;
  const std::vector<int>& owner_of_block_;
  std::vector<Block> blocks_;
  std::vector<WayOut> ways_out_;
  StepFrameCounts frame_counts_;
  std::atomic<uint64_t> frames_waiting_{0};  // this worker: writes, the leader: relaxed loads
  std::vector<const StepWorker*> peers_;
  uint64_t in_round_ = 0;
  size_t next_block_ = 0;  // the next block of this round
  bool all_done_ = true;   // whether all blocks of this round are done
  uint64_t held_ = 0;
  uint32_t waits_ = 0;           // passes in a row without a part
  std::vector<uint64_t> given_;  // for each worker: packets given to it so far
  std::vector<uint64_t> taken_;  // for each worker: packets taken over from it so far
  // For each worker: the value of given_ in the account that readers see. This worker: release
  // stores, the others: acquire loads.
  std::unique_ptr<std::atomic<uint64_t>[]> given_published_;
  alignas(RTE_CACHE_LINE_SIZE) std::atomic<uint64_t> done_{0};  // this worker: release stores
};

}  // namespace bfly::dataplane
