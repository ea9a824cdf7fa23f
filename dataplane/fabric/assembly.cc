// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/assembly.h"

#include <rte_mbuf.h>

#include <utility>

namespace bfly::dataplane {
namespace {

// Descriptors between two workers: enough to ride out a pass of the other, small enough for a
// cache.
constexpr uint32_t kRingSlots = 1024;

}  // namespace

void Assembly::Build() {
  egresses_.resize(workers_.size());
  BuildReceivers();
  BuildHops();
  BuildTransmitters();
}

Segment* Assembly::NewSegment(int worker, std::vector<Stage*> hops) {
  segments_.push_back({std::make_unique<Segment>(std::move(hops)), worker});
  Segment* const segment = segments_.back().segment.get();
  workers_[worker]->AddSegment(segment);
  return segment;
}

Inlet* Assembly::Connect(Segment* from, Stage* last, int consumer) {
  rings_.push_back(std::make_unique<WorkerRing>(WorkerRing{Ring(kRingSlots), consumer}));
  Ring* const ring = &rings_.back()->ring;
  from->AddLane(Lane::ToRing(ring, last, 0));
  inlets_.push_back(std::make_unique<RingInlet>(ring));
  return inlets_.back().get();
}

int Assembly::PollerOf(const HostPortConfig& port, int queue, int by_default) const {
  if (port.lcores.empty()) return by_default;
  return plan_.worker_of_lcore(port.lcores[static_cast<size_t>(queue) % port.lcores.size()]);
}

void Assembly::BuildReceivers() {
  if (!plan_.has_first_hop()) return;  // frames from hosts start at stage 0, on another data plane
  const int first = plan_.segments.front().worker;
  std::vector<Segment*> receiver(workers_.size());
  for (const auto& port : ports_.host_ports()) {
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

void Assembly::BuildHops() {
  Inlet* from_before = nullptr;
  for (size_t i = 0; i < plan_.segments.size(); ++i) {
    const SegmentPlan& plan = plan_.segments[i];
    std::vector<Stage*> hops;
    for (int h = plan.first_hop; h < plan.first_hop + plan.hops; ++h) {
      hops.push_back(&stages_.of(network_.stage_of_hop(h)));
    }
    Stage* const last = hops.back();
    Segment* const segment = NewSegment(plan.worker, std::move(hops));
    hop_segments_.push_back(segment);
    if (i == 0) {
      for (Inlet* inlet : arrivals_) segment->AddInlet(inlet, false);
      if (ports_.trunk_in() != nullptr) segment->AddInlet(ports_.trunk_in()->inlet(), true);
    } else {
      segment->AddInlet(from_before, false);
    }
    if (i + 1 < plan_.segments.size()) {
      from_before = Connect(segment, last, plan_.segments[i + 1].worker);
    } else if (ports_.trunk_out() != nullptr) {
      segment->AddLane(Lane::ToTrunk(ports_.trunk_out()->outlet(), last, 0));
    }
  }
  if (network_.hops() != network_.stages()) SetContinuations();
}

// Several passes run in one data plane, so every hop is here.
void Assembly::SetContinuations() {
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
void Assembly::BuildTransmitters() {
  if (ports_.trunk_out() != nullptr) return;  // packets leave to hosts from another data plane
  const int last = plan_.segments.back().worker;
  Segment* const from = hop_segments_.back();
  egresses_[last] = std::make_unique<Egress>(network_.rows());
  from->AddLane(Lane::ToEgress(egresses_[last].get()));
  std::vector<uint16_t> lane_of_worker(workers_.size(), 0);
  uint16_t lanes = 1;
  Segment::Exits exits{.choice_of_row = std::vector<uint16_t>(network_.rows()), .choices = {{0}}};
  for (const auto& port : ports_.host_ports()) {
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

void Assembly::AddFirstHopInlet(Inlet* inlet) { hop_segments_.front()->AddInlet(inlet, false); }

void Assembly::AddFirstHopInlet(std::unique_ptr<Inlet> inlet) {
  inlets_.push_back(std::move(inlet));
  AddFirstHopInlet(inlets_.back().get());
}

void Assembly::Discard() {
  for (const auto& on_the_way : rings_) {
    Ledger& ledger = workers_[on_the_way->consumer]->stopped_account().ledger;
    Descriptor burst[kBurst];
    while (const uint32_t n = on_the_way->ring.Pop(burst, kBurst)) {
      for (uint32_t i = 0; i < n; ++i) rte_pktmbuf_free(burst[i].mbuf);
      ledger.taken_over += n;
      ledger.Drop(DropReason::kUnloaded, n);
    }
  }
  for (const OwnedSegment& owned : segments_) {
    Ledger& ledger = workers_[owned.worker]->stopped_account().ledger;
    ledger.Drop(DropReason::kUnloaded, owned.segment->Discard());
  }
  for (const auto& worker : workers_) {
    worker->stopped_account().ledger.Drop(DropReason::kUnloaded, worker->DiscardTimed());
    worker->stopped_account().ledger.held = 0;
    worker->PublishStopped();
  }
}

}  // namespace bfly::dataplane
