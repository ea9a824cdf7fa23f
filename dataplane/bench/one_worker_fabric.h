// SPDX-License-Identifier: Apache-2.0
// Stages with links that take time on one worker, built as a loaded fabric builds them, between an
// inlet and a sink of a benchmark.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/core/inlet.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/core/tsc_hz.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/stages/packet_store.h"

namespace bfly::dataplane {

class OneWorkerFabric {
 public:
  // All links have the same shape. The worker polls, on the last usable CPU. `network`, `inlet` and
  // `sink` must outlive the fabric.
  OneWorkerFabric(const Network& network, const LinkShape& shape, Inlet* inlet, Outlet* sink) {
    const LinkPlan plan{.base = shape, .rules = {}};
    const auto hz = static_cast<double>(TscHz());
    std::vector<Stage*> hops;
    for (int s = 0; s < network.stages(); ++s) {
      Stage* const stage = stages_.emplace_back(std::make_unique<Stage>(network, s)).get();
      const ShapeTable& table = *tables_.emplace_back(
          std::make_unique<ShapeTable>(plan, s, network.rows(), network.ports(), hz));
      timed_.push_back(std::make_unique<TimedLinks>(stage->links(), network.link_index({s, 0, 0}),
                                                    &store_, &stage->cold(0), 1));
      stage->OfferShapes(&table, timed_.back().get());
      hops.push_back(stage);
      worker_.AddStage(stage);
    }
    segment_ = std::make_unique<Segment>(std::move(hops));
    segment_->AddInlet(inlet, false);
    segment_->AddLane(Lane::ToEgress(sink));
    worker_.AddSegment(segment_.get());
    worker_.epoch()->Ask();
  }

  // Runs once, and adds what became of the packets to `sum`.
  absl::Status Run(double seconds, Conservation& sum) {
    if (absl::Status status = worker_.Start(); !status.ok()) return status;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    worker_.AskToStop();
    if (absl::Status status = worker_.Join(5); !status.ok()) return status;
    const Ledger& ledger = worker_.stopped_account().ledger;
    sum.injected += ledger.injected;
    sum.delivered += ledger.delivered;
    sum.dropped += ledger.dropped_total();
    sum.in_flight += ledger.held;
    worker_.DiscardTimed();
    return absl::OkStatus();
  }

  const Worker& worker() const { return worker_; }

 private:
  PacketStore store_{size_t{64} << 20};
  std::vector<std::unique_ptr<ShapeTable>> tables_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::unique_ptr<TimedLinks>> timed_;
  std::unique_ptr<Segment> segment_;
  Worker worker_{UsableCpus().back(), IdleMode::kPoll};
};

}  // namespace bfly::dataplane
