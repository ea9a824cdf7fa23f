// SPDX-License-Identifier: Apache-2.0
// A client that sets circuits up and releases them as fast as a controller answers: over one
// stream, by unary calls and, for comparison, with empty calls to the same server.
#pragma once

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

namespace bfly::control {

struct GrpcLoad {
  std::shared_ptr<grpc::Channel> channel;
  // Input i goes to outputs[i], a permutation of the loaded fabric's rows. No circuit stands before
  // or after a measurement.
  std::vector<uint32_t> outputs;
  double seconds = 1;
};

struct Rate {
  uint64_t answers = 0;  // set-ups and releases in equal parts, or empty calls
  double seconds = 0;
  double per_second() const { return static_cast<double>(answers) / seconds; }
};

// Set-ups and releases in messages of `batch` operations, with all rows under way at a time. Batch
// 1 sends single operations without a batch around them. A refused operation ends the measurement
// with its error.
absl::StatusOr<Rate> LoadStream(const GrpcLoad& load, uint32_t batch);
// Set-ups and releases by unary calls, `callers` of them at a time.
absl::StatusOr<Rate> LoadUnary(const GrpcLoad& load, uint32_t callers);
// `callers` calls at a time of grpc.health.v1.Health/Check, which does nothing.
absl::StatusOr<Rate> LoadEmpty(const GrpcLoad& load, uint32_t callers);

}  // namespace bfly::control
