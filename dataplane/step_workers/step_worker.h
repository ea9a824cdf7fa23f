// SPDX-License-Identifier: Apache-2.0
// What one stage worker does for a step program: in each pass, after its data, it runs one part of
// one of its blocks, and turns what the packets of the program did there into counts of its links
// and its ledger.
#pragma once

#include <rte_config.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/core/ledger.h"
#include "dataplane/stages/stage.h"
#include "dataplane/steps/packet_traffic.h"

namespace bfly::dataplane {

class StageCrew;

// A packet of a step program counts on links as a source's packet of its usual size does.
inline constexpr uint32_t kStepPacketBytes = 64;

// What the worker that leads a program has all workers do next. The leader writes the rest, then
// `number`; workers load `number`, and the rest if it has changed.
struct alignas(RTE_CACHE_LINE_SIZE) StepRound {
  enum class Kind : uint8_t {
    kParts,    // a part of every block
    kEmpty,    // nothing
    kDiscard,  // drop what stands at nodes
  };
  std::atomic<uint64_t> number{0};  // leader: release stores, workers: acquire loads
  Kind kind = Kind::kEmpty;
  DropReason reason = DropReason::kUnloaded;  // of kDiscard
  void (*call)(void*, int, size_t) = nullptr;
  void* context = nullptr;
};

// A worker shares no cache line with data that another worker writes.
class alignas(RTE_CACHE_LINE_SIZE) StepWorker {
 public:
  // `owner_of_block` has a worker for each block of the traffic. All arguments outlive the object.
  StepWorker(int index, StageCrew& crew, const StepRound& round, PacketTraffic& traffic,
             const std::vector<int>& owner_of_block, int workers);

  // Adds a block of this worker. stages[i] has the links that leave the block's i-th level; the
  // outputs have none.
  void AddBlock(size_t block, std::vector<Stage*> stages);
  // All workers, by their index. They outlive the object.
  void SetPeers(std::vector<const StepWorker*> peers) { peers_ = std::move(peers); }

  // At the start of a pass: runs a program if this worker leads it and it has been posted.
  void Lead();
  // Once a pass, after the data: runs at most one part. Returns how many packets of the program
  // stand at the nodes of this worker.
  uint64_t Work(Ledger& ledger);
  // At the end of a pass, after the account was published.
  void Published();
  // The worker makes no further pass.
  void Leave() { done_.store(UINT64_MAX, std::memory_order_release); }

  // The last round of which the worker has done everything. Any thread.
  uint64_t done() const { return done_.load(std::memory_order_acquire); }

  // For the thread that unloads, after all workers have stopped: takes over what is on its way to
  // this worker, and drops all packets that stand at its nodes.
  void Discard(Ledger& ledger);

 private:
  struct Block {
    size_t number;
    int first_level;
    std::vector<Stage*> stages;
  };
  void RunPart(const Block& block, Ledger& ledger);
  void TakeOver(Ledger& ledger);
  void Drop(DropReason reason, Ledger& ledger);

  const int index_;
  StageCrew& crew_;
  const StepRound& round_;
  PacketTraffic& traffic_;
  const std::vector<int>& owner_of_block_;
  std::vector<Block> blocks_;
  std::vector<const StepWorker*> peers_;
  uint64_t in_round_ = 0;
  size_t next_block_ = 0;  // of this round
  bool all_done_ = true;   // of this round
  uint64_t held_ = 0;
  uint32_t waits_ = 0;           // passes in a row without a part
  std::vector<uint64_t> given_;  // by worker: packets given to it so far
  std::vector<uint64_t> taken_;  // by worker: packets taken over from it so far
  // By worker: given_ as the account that readers see has it. This worker: release stores, the
  // others: acquire loads.
  std::unique_ptr<std::atomic<uint64_t>[]> given_published_;
  alignas(RTE_CACHE_LINE_SIZE) std::atomic<uint64_t> done_{0};  // this worker: release stores
};

}  // namespace bfly::dataplane
