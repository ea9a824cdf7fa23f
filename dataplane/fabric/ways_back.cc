// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/ways_back.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "dataplane/runtime/numa.h"

namespace bfly::dataplane {
namespace {

// The packets that may be between a worker of output rows and one of input rows.
constexpr uint32_t kTurningBack = 1024;
// How often the thread that closes the ways looks whether the last packet has turned back.
constexpr std::chrono::milliseconds kBetweenLooks{5};

}  // namespace

void WaysBack::Make() {
  Row rows = 0;
  for (const SlotGate* gate : gates_) rows = std::max(rows, gate->rows().last + 1);
  std::vector<uint16_t> gate_of_row(rows);
  for (size_t gate = 0; gate < gates_.size(); ++gate) {
    const RowRange of_gate = gates_[gate]->rows();
    std::fill(gate_of_row.begin() + of_gate.first, gate_of_row.begin() + of_gate.last + 1,
              static_cast<uint16_t>(gate));
  }
  // Nothing is kept if memory runs out on the way.
  std::vector<std::vector<Ring*>> to_gate(gates_.size());
  std::vector<std::unique_ptr<Ring>> made;
  std::vector<std::unique_ptr<TurnBackOut>> ways;
  for (size_t out = 0; out < ways_out_.size(); ++out) {
    std::vector<Ring*> rings;
    for (size_t gate = 0; gate < gates_.size(); ++gate) {
      const OnNode on(gate_workers_[gate]->node());
      rings.push_back(made.emplace_back(std::make_unique<Ring>(kTurningBack)).get());
      to_gate[gate].push_back(rings.back());
    }
    ways.push_back(std::make_unique<TurnBackOut>(gate_of_row, std::move(rings)));
  }
  waiting_ = std::jthread([this](const std::stop_token& stop) { WaitForLast(stop); });
  rings_ = std::move(made);
  ways_ = std::move(ways);
  for (size_t gate = 0; gate < gates_.size(); ++gate) {
    gates_[gate]->AddWaysBack(std::move(to_gate[gate]));
  }
}

uint64_t WaysBack::MemoryNeed() const {
  const std::lock_guard lock(mutex_);
  return ways_.empty() ? ways_out_.size() * gates_.size() * kTurningBack * sizeof(Descriptor) : 0;
}

uint64_t WaysBack::dropped() const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const auto& way : ways_) sum += way->dropped();
  return sum;
}

void WaysBack::SetOpen(bool open) {
  open_ = open;
  for (size_t out = 0; out < ways_out_.size(); ++out) {
    ways_out_[out]->TurnBackBy(open ? ways_[out].get() : nullptr);
  }
  for (SlotGate* gate : gates_) {
    gate->SetTurnBack(open);
    gate->worker()->Ask();  // the gate's worker takes the change up
  }
}

void WaysBack::Open() {
  const std::lock_guard lock(mutex_);
  closing_ = false;
  if (ways_.empty()) Make();
  if (!open_) SetOpen(true);
}

void WaysBack::CloseWhenEmpty(GracePeriod last_entered) {
  const std::lock_guard lock(mutex_);
  if (!open_) return;
  closing_ = true;
  last_entered_ = std::move(last_entered);
  changed_.notify_all();
}

bool WaysBack::open() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

// Every packet that was sent by an intermediate row has turned back or was dropped, and no packet
// waits for its gate. No count ever falls, so counts that were read one after the other and agree
// tell the truth.
bool WaysBack::IsEmpty() const {
  if (!last_entered_.over()) return false;
  uint64_t sent = 0, ended = 0, version = 0;
  for (const auto& worker : workers_) ended += worker->account(version).ledger.turning_dropped;
  for (const SlotGate* gate : gates_) sent += gate->sent_by_intermediate_row();
  for (const auto& way : ways_) ended += way->ended();
  return sent == ended &&
         std::all_of(rings_.begin(), rings_.end(),
                     [](const std::unique_ptr<Ring>& ring) { return ring->waiting() == 0; });
}

bool WaysBack::CloseIfEmpty() {
  if (!IsEmpty()) return false;
  closing_ = false;
  SetOpen(false);
  return true;
}

void WaysBack::WaitForLast(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!closing_) {
      changed_.wait(lock, stop, [this] { return closing_; });
    } else if (!CloseIfEmpty()) {
      changed_.wait_for(lock, stop, kBetweenLooks, [] { return false; });
    }
  }
}

void WaysBack::StopWaiting() {
  if (!waiting_.joinable()) return;
  waiting_.request_stop();
  waiting_.join();
}

void WaysBack::Discard() {
  StopWaiting();
  for (size_t gate = 0; gate < gates_.size(); ++gate) {
    gates_[gate]->DiscardTurningBack(gate_workers_[gate]->stopped_account().ledger);
  }
}

}  // namespace bfly::dataplane
