// SPDX-License-Identifier: Apache-2.0
// LoadedFabric: how stages, ports and workers are put together.
#include <atomic>

#include "absl/strings/str_cat.h"
#include "dataplane/fabric/loaded_fabric.h"

namespace bfly::dataplane {
namespace {

// Descriptors between two workers: enough to ride out a pass of the other, small enough for a
// cache.
constexpr uint32_t kRingSlots = 1024;

std::string PoolName() {
  static std::atomic<int> pools{0};
  return absl::StrCat("bfly_frames_", pools.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

void LoadedFabric::BuildStages() {
  for (int s = plan_.first_stage; s <= plan_.last_stage; ++s) {
    stages_.push_back(std::make_unique<Stage>(network_, s));
  }
  for (int lcore : plan_.lcores) workers_.push_back(std::make_unique<Worker>(lcore, config_.idle));
  egresses_.resize(workers_.size());
  shapes_.resize(stages_.size());
  timed_.resize(stages_.size());
  stores_.resize(workers_.size());
  for (int s = plan_.first_stage; s <= plan_.last_stage; ++s) {
    workers_[WorkerOfStage(s)]->AddStage(&stage(s));
  }
}

absl::Status LoadedFabric::OpenPorts() {
  flood_ = config_.rows_elsewhere;
  for (const HostPortConfig& port : config_.ports) {
    flood_.insert(flood_.end(), port.rows.begin(), port.rows.end());
  }
  if (config_.ports.empty() && config_.trunks.empty()) return absl::OkStatus();
  absl::StatusOr<FramePool> pool = MakeFramePool(PoolName(), config_);
  if (!pool.ok()) return pool.status();
  pool_ = *std::move(pool);
  const HostPortContext context = {
      .routes = &routes_,
      .rules = MakeFrameRules(network_, config_.addressing, config_.max_frame_bytes),
      .flood = &flood_,
      .pool = pool_.get(),
      .keeper = &keeper_,
      .hosts = &hosts_};
  for (size_t i = 0; i < config_.ports.size(); ++i) {
    auto port = HostPort::Open(absl::StrCat("ports[", i, "]"), config_.ports[i], context);
    if (!port.ok()) return port.status();
    ports_.push_back(*std::move(port));
  }
  for (size_t i = 0; i < config_.trunks.size(); ++i) {
    const TrunkConfig& config = config_.trunks[i];
    auto trunk = Trunk::Open(absl::StrCat("trunks[", i, "]"), config, network_,
                             config_.max_frame_bytes, pool_.get(), &keeper_);
    if (!trunk.ok()) return trunk.status();
    (config.sends ? trunk_out_ : trunk_in_) = *std::move(trunk);
  }
  return absl::OkStatus();
}

Segment* LoadedFabric::NewSegment(int worker, std::vector<Stage*> hops) {
  segments_.push_back({std::make_unique<Segment>(std::move(hops)), worker});
  Segment* const segment = segments_.back().segment.get();
  workers_[worker]->AddSegment(segment);
  return segment;
}

Inlet* LoadedFabric::Connect(Segment* from, Stage* last, int consumer) {
  rings_.push_back(std::make_unique<WorkerRing>(WorkerRing{Ring(kRingSlots), consumer}));
  Ring* const ring = &rings_.back()->ring;
  from->AddLane(Lane::ToRing(ring, last, 0));
  inlets_.push_back(std::make_unique<RingInlet>(ring));
  return inlets_.back().get();
}

int LoadedFabric::PollerOf(const HostPortConfig& port, int queue, int by_default) const {
  if (port.lcores.empty()) return by_default;
  return plan_.worker_of_lcore(port.lcores[static_cast<size_t>(queue) % port.lcores.size()]);
}

void LoadedFabric::BuildReceivers() {
  if (!plan_.has_first_hop()) return;  // frames from hosts start at stage 0, on another data plane
  const int first = plan_.segments.front().worker;
  std::vector<Segment*> receiver(workers_.size());
  for (const auto& port : ports_) {
    for (int q = 0; q < port->queue_pairs(); ++q) {
      const int worker = PollerOf(port->config(), q, first);
      if (worker == first) {
        arrivals_.push_back(&port->inlet(q));
        continue;
      }
      if (receiver[worker] == nullptr) {
        receiver[worker] = NewSegment(worker, {});
        arrivals_.push_back(Connect(receiver[worker], nullptr, first));
      }
      receiver[worker]->AddInlet(&port->inlet(q), false);
    }
  }
}

void LoadedFabric::BuildHops() {
  Inlet* from_before = nullptr;
  for (size_t i = 0; i < plan_.segments.size(); ++i) {
    const SegmentPlan& plan = plan_.segments[i];
    std::vector<Stage*> hops;
    for (int h = plan.first_hop; h < plan.first_hop + plan.hops; ++h) {
      hops.push_back(&stage(network_.stage_of_hop(h)));
    }
    Stage* const last = hops.back();
    Segment* const segment = NewSegment(plan.worker, std::move(hops));
    hop_segments_.push_back(segment);
    if (i == 0) {
      for (Inlet* inlet : arrivals_) segment->AddInlet(inlet, false);
      if (trunk_in_) segment->AddInlet(trunk_in_->inlet(), true);
    } else {
      segment->AddInlet(from_before, false);
    }
    if (i + 1 < plan_.segments.size()) {
      from_before = Connect(segment, last, plan_.segments[i + 1].worker);
    } else if (trunk_out_) {
      segment->AddLane(Lane::ToTrunk(trunk_out_->outlet(), last, 0));
    }
  }
  if (network_.hops() == network_.stages()) return;
  // Several passes run in one data plane, so every hop is here.
  std::vector<Segment::Continuation> by_hop;
  for (size_t i = 0; i < plan_.segments.size(); ++i) {
    for (int h = 0; h < plan_.segments[i].hops; ++h) {
      by_hop.push_back({hop_segments_[i], static_cast<size_t>(h) + 1});
    }
  }
  for (size_t i = 0; i < plan_.segments.size(); ++i) {
    // Only packets of its own worker come out of its stages.
    std::vector<Segment::Continuation> own = by_hop;
    for (Segment::Continuation& next : own) {
      for (size_t j = 0; j < plan_.segments.size(); ++j) {
        if (hop_segments_[j] == next.segment &&
            plan_.segments[j].worker != plan_.segments[i].worker) {
          next = {};
        }
      }
    }
    hop_segments_[i]->SetContinuations(std::move(own));
  }
}

// Lane 0 of the last segment is the egress of its own worker; a lane more for each other worker
// that transmits, and a segment there that does nothing else.
void LoadedFabric::BuildTransmitters() {
  if (trunk_out_) return;  // packets leave to hosts from another data plane
  const int last = plan_.segments.back().worker;
  Segment* const from = hop_segments_.back();
  egresses_[last] = std::make_unique<Egress>(network_.rows());
  from->AddLane(Lane::ToEgress(egresses_[last].get()));
  std::vector<uint16_t> lane_of_worker(workers_.size(), 0);
  uint16_t lanes = 1;
  Segment::Exits exits{.choice_of_row = std::vector<uint16_t>(network_.rows()), .choices = {{0}}};
  for (const auto& port : ports_) {
    std::vector<uint16_t> choice;
    std::vector<bool> attached(workers_.size());
    for (int q = 0; q < port->queue_pairs(); ++q) {
      const int worker = PollerOf(port->config(), q, last);
      if (attached[worker]) continue;  // a worker transmits on the first of its queues
      attached[worker] = true;
      if (!egresses_[worker]) {
        egresses_[worker] = std::make_unique<Egress>(network_.rows());
        lane_of_worker[worker] = lanes++;
        Inlet* const inlet = Connect(from, nullptr, worker);
        Segment* const transmitter = NewSegment(worker, {});
        transmitter->AddInlet(inlet, false);
        transmitter->AddLane(Lane::ToEgress(egresses_[worker].get()));
      }
      egresses_[worker]->Attach(port->config().rows, &port->transmitter(q));
      choice.push_back(lane_of_worker[worker]);
    }
    for (Row row : port->config().rows) {
      exits.choice_of_row[row] = static_cast<uint16_t>(exits.choices.size());
    }
    exits.choices.push_back(std::move(choice));
  }
  if (lanes > 1) from->SetExits(std::move(exits));
}

void LoadedFabric::AddSources(const InletFactory& more_traffic) {
  if (!plan_.has_first_hop()) return;
  Segment* const first = hop_segments_.front();
  first->AddInlet(&sources_, false);
  workers_[plan_.segments.front().worker]->SetSources(&sources_);
  if (!more_traffic) return;
  inlets_.push_back(more_traffic(network_, routes_));
  first->AddInlet(inlets_.back().get(), false);
}

}  // namespace bfly::dataplane
