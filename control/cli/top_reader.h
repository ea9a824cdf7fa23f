// SPDX-License-Identifier: Apache-2.0
// Asks the controller for what `bfly top` shows.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/telemetry.grpc.pb.h"
#include "bfly/v1/traffic.grpc.pb.h"
#include "control/cli/stoppable_calls.h"
#include "control/cli/verb.h"
#include "control/top/sample.h"

namespace bfly::control {

class TopReader {
 public:
  TopReader(Part part, const Common& common);
  // One round of questions. A fabric that is unloaded before its circuits are read counts as not
  // loaded. A data plane that is away does not end the round.
  absl::StatusOr<Answers> Ask();
  // A sample of this round, beside the round before.
  absl::StatusOr<Sample> Next();
  // Ends the round under way, and every later one, with Cancelled. Any thread may call it.
  void Stop() { calls_.Stop(); }

 private:
  v1::GetCountersRequest CountersRequest(const Part& part, Answers& answers) const;

  const Part part_;
  StoppableCalls calls_;
  const std::unique_ptr<v1::Fabric::Stub> fabric_;
  const std::unique_ptr<v1::Telemetry::Stub> telemetry_;
  const std::unique_ptr<v1::Circuits::Stub> circuits_;
  const std::unique_ptr<v1::Traffic::Stub> traffic_;
  std::optional<Answers> before_;
};

// Has a reader ask at every interval, by a thread of its own, so that keys and resizes never wait.
class TopThread {
 public:
  TopThread(TopReader& reader, std::chrono::milliseconds interval);
  ~TopThread();  // stops the reader for good

  // Readable when Take has something.
  int descriptor() const { return event_; }
  // The newest sample, or why there is none, if one came since the last call.
  std::optional<absl::StatusOr<Sample>> Take();

 private:
  void Run();

  TopReader& reader_;
  const std::chrono::milliseconds interval_;
  const int event_;
  std::condition_variable stop_;
  std::mutex mutex_;  // guards the two fields below
  bool stopping_ = false;
  std::optional<absl::StatusOr<Sample>> newest_;
  std::thread thread_;
};

}  // namespace bfly::control
