// SPDX-License-Identifier: Apache-2.0
// A client that sets circuits up and releases them as fast as a controller answers: over one
// stream, by unary calls, and, to compare, empty calls to the same server.
#pragma once

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

namespace bfly::control {

struct GrpcLoad {
  std::shared_ptr<grpc::Channel> channel;
  // Input i goes to outputs[i]: the rows of the loaded fabric in another order. No circuit stands
  // when a measurement begins, and none when it has ended.
  std::vector<uint32_t> outputs;
  double seconds = 1;
};

struct Rate {
  uint64_t answers = 0;  // set-ups and releases in equal parts, or empty calls
  double seconds = 0;
  double per_second() const { return static_cast<double>(answers) / seconds; }
};

// Set-ups and releases in messages of `batch` operations, all rows under way at a time; batch 1: a
// message each, without the batch around it. An operation that is refused ends it: its error.
absl::StatusOr<Rate> LoadStream(const GrpcLoad& load, uint32_t batch);
// Set-ups and releases by `callers` calls at a time, each of them a unary call.
absl::StatusOr<Rate> LoadUnary(const GrpcLoad& load, uint32_t callers);
// grpc.health.v1.Health/Check by `callers` at a time: a call that does nothing.
absl::StatusOr<Rate> LoadEmpty(const GrpcLoad& load, uint32_t callers);

}  // namespace bfly::control
