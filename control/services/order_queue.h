// SPDX-License-Identifier: Apache-2.0
// Unary set-ups and releases. No thread waits for each of them: those that come while the data
// plane is asked are carried out together as the next batch.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "bfly/v1/circuits.pb.h"
#include "control/services/controller.h"

namespace bfly::control {

class OrderQueue {
 public:
  // Calls that may wait; more are RESOURCE_EXHAUSTED.
  static constexpr size_t kMaxWaiting = 16'384;

  // `controller` must outlive the queue. Ends, with its threads, when no call is open any more.
  explicit OrderQueue(Controller& controller);
  ~OrderQueue();

  // A call that is finished with `circuit` filled in, or with the error.
  struct Call {
    absl::StatusOr<Order> order;
    uint64_t election_id = 0;
    v1::Circuit* circuit = nullptr;
    grpc::CallbackServerContext* context = nullptr;
    grpc::ServerUnaryReactor* reactor = nullptr;
  };
  void Push(Call call);
  // Work that takes its time, such as waiting for stage workers; one after the other, beside the
  // calls above.
  void PushSlow(std::function<void()> work);

 private:
  void Run();
  void RunSlow();
  void CarryOut(std::vector<Call>& calls);

  Controller& controller_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;                    // mutex_
  std::vector<Call> waiting_;                // mutex_
  std::vector<std::function<void()>> slow_;  // mutex_
  std::thread thread_, slow_thread_;
};

}  // namespace bfly::control
