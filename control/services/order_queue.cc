// SPDX-License-Identifier: Apache-2.0
#include "control/services/order_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/services/circuit_messages.h"
#include "control/status/grpc_status.h"

namespace bfly::control {

OrderQueue::OrderQueue(Controller& controller) : controller_(controller) {
  thread_ = std::thread([this] { Run(); });
  slow_thread_ = std::thread([this] { RunSlow(); });
}

OrderQueue::~OrderQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  slow_thread_.join();
}

void OrderQueue::Push(Call call) {
  if (!call.order.ok()) {
    call.reactor->Finish(ToGrpc(call.order.status()));
    return;
  }
  std::unique_lock lock(mutex_);
  if (waiting_.size() < kMaxWaiting) {
    waiting_.push_back(std::move(call));
    if (waiting_.size() == 1) changed_.notify_all();
    return;
  }
  lock.unlock();
  call.reactor->Finish(ToGrpc(absl::ResourceExhaustedError(
      absl::StrCat(kMaxWaiting,
                   " set-ups and releases wait already; send fewer at a time, or many "
                   "in one message over Stream"))));
}

void OrderQueue::PushSlow(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  slow_.push_back(std::move(work));
  changed_.notify_all();
}

void OrderQueue::Run() {
  std::vector<Call> calls;
  for (;;) {
    calls.clear();
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !waiting_.empty() || stopping_; });
      if (waiting_.empty()) return;
      calls.swap(waiting_);
    }
    CarryOut(calls);
  }
}

void OrderQueue::RunSlow() {
  for (;;) {
    std::vector<std::function<void()>> all;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !slow_.empty() || stopping_; });
      if (slow_.empty()) return;
      all.swap(slow_);
    }
    for (const std::function<void()>& work : all) work();
  }
}

void OrderQueue::CarryOut(std::vector<Call>& calls) {
  struct Result {
    std::shared_ptr<const Network> network;
    Outcome outcome = absl::UnknownError("");
  };
  std::vector<Call*> open;
  for (Call& call : calls) {
    // Nobody waits for the answer any more: nothing is done.
    if (call.context->IsCancelled()) {
      call.reactor->Finish(ToGrpc(absl::CancelledError("cancelled; nothing was changed")));
    } else {
      open.push_back(&call);
    }
  }
  std::vector<Result> results(open.size());
  std::vector<Controller::Job> jobs(open.size());
  for (size_t i = 0; i < open.size(); ++i) {
    jobs[i].election_id = open[i]->election_id;
    jobs[i].plan = [order = &*open[i]->order, result = &results[i]](FabricState& state) {
      result->network = state.shared_network();
      result->outcome = state.Execute(*order);
    };
  }
  if (!jobs.empty()) controller_.Commit(jobs);
  for (size_t i = 0; i < open.size(); ++i) {
    const absl::Status& status = jobs[i].status.ok() ? results[i].outcome.status() : jobs[i].status;
    if (status.ok()) FillCircuit(*results[i].network, *results[i].outcome, open[i]->circuit);
    open[i]->reactor->Finish(ToGrpc(status));
  }
}

}  // namespace bfly::control
