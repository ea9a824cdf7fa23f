// SPDX-License-Identifier: Apache-2.0
// When a packet of a step program changes workers in the accounts that readers see.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "dataplane/step_workers/loaded_step_programs.h"
#include "tests/packet/fabric_fixture.h"

namespace bfly::dataplane {
namespace {

// This thread makes the passes of two workers, in turns in which one publishes its account only
// after the other has worked twice. A reader that comes then would see a packet that was taken over
// before it was handed on.
TEST(StepWorkersHandOver, NobodyTakesOverWhatTheAccountDoesNotSayIsHandedOn) {
  const FabricConfig config = Halves(NetworkKind::kButterfly, 16);
  const Network network = *Network::Make(config.network);
  const FabricPlan plan = PlanFabric(config, network);
  std::vector<std::unique_ptr<Stage>> stages;
  for (int stage = 0; stage < network.stages(); ++stage) {
    for (const BlockPlan& block : plan.blocks_of(stage)) {
      stages.push_back(std::make_unique<Stage>(network, stage, block.rows));
    }
  }
  const auto stage_of = [&](int stage, Row row) -> Stage& {
    return *stages[static_cast<size_t>(stage) * 2 + (row < 8 ? 0 : 1)];
  };
  Segment unused({});
  LoadedStepPrograms programs(
      network, plan, stage_of, [&](Row) -> Segment& { return unused; }, {}, FaultSet(network),
      [] { return UINT64_MAX; });
  StageCrew& crew = programs.crew();
  crew.set_fewest_barriers(1);
  struct Pass {
    StepWorker* worker;
    Ledger ledger = {};
    uint64_t published = 0;  // of ledger.handed_on
    void Publish() {
      published = ledger.handed_on;
      worker->Published();
    }
  };
  Pass low{.worker = crew.worker(crew.leader())}, high{.worker = crew.worker(1 - crew.leader())};
  Pass *first = &low, *second = &high;
  crew.Attach(
      [&] {
        first->worker->Work(first->ledger);
        for (int pass = 0; pass < 2; ++pass) {
          second->worker->Work(second->ledger);
          EXPECT_LE(second->ledger.taken_over, first->published);
          second->Publish();
        }
        first->Publish();
        std::swap(first, second);
      },
      [] {}, [] {});
  std::atomic<bool> ended{false};
  std::thread caller([&] {
    const auto run = programs.Run("store_and_forward", FaultSet(network),
                                  {.relation = *RelationByName("random", 16, 8, 3)}, {}, nullptr);
    EXPECT_TRUE(run.ok()) << run.status();
    ended = true;
  });
  while (!ended) {
    low.worker->Lead();
    std::this_thread::yield();
  }
  caller.join();
  EXPECT_EQ(low.ledger.injected, 64u);
  EXPECT_EQ(high.ledger.injected, 64u);
  EXPECT_EQ(low.ledger.delivered + high.ledger.delivered, 128u);
  EXPECT_GT(low.ledger.handed_on, 0u);
  EXPECT_GT(high.ledger.handed_on, 0u);
  EXPECT_EQ(low.ledger.handed_on, high.ledger.taken_over);
  EXPECT_EQ(high.ledger.handed_on, low.ledger.taken_over);
}

}  // namespace
}  // namespace bfly::dataplane
