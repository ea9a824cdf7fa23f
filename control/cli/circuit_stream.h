// SPDX-License-Identifier: Apache-2.0
// A client of Circuits.Stream that sends one message of many operations and waits for its answer.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "control/cli/client.h"

namespace bfly::control {

class CircuitStream final
    : private grpc::ClientBidiReactor<v1::CircuitOperation, v1::CircuitResult> {
 public:
  // While an answer is awaited, `give_up` is called repeatedly. If it returns true the stream is
  // over.
  explicit CircuitStream(const Common& common, std::function<bool()> give_up = {});
  ~CircuitStream() override;
  CircuitStream(const CircuitStream&) = delete;
  CircuitStream& operator=(const CircuitStream&) = delete;

  // Carries out at most 4,096 operations in order and returns a result for each. After an error the
  // stream is over, and nobody knows which of the operations were carried out.
  absl::StatusOr<v1::CircuitResult> Execute(const v1::CircuitOperations& operations);
  bool is_over() const { return over_; }

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  // Waits for the call to end, which must be about to happen, and returns why it ended.
  absl::Status End();

  const Common common_;
  const std::function<bool()> give_up_;
  const std::unique_ptr<v1::Circuits::Stub> stub_;
  grpc::ClientContext context_;
  bool over_ = false;
  // gRPC owns these two while a message is under way.
  v1::CircuitOperation operation_;
  v1::CircuitResult result_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // mutex_ guards these four.
  bool writing_ = false, reading_ = false;
  bool has_result_ = false;
  bool done_ = false;
  grpc::Status status_;
};

}  // namespace bfly::control
