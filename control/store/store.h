// SPDX-License-Identifier: Apache-2.0
// What a controller must know again after a restart and no data plane can tell it: where objects
// were placed. Data planes hold the topology and the circuits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

// The placements of one fabric, as records in the order they were done. Not thread-safe.
//
// A store that cannot be read is never taken for an empty one: every call returns why, until the
// operator has done what the error says. DATA_LOSS: it is damaged, or a file of something else.
// FAILED_PRECONDITION: a newer bfly wrote it. ABORTED: another process holds it.
// RESOURCE_EXHAUSTED: it is full. INTERNAL: the system cannot read or write it. After an error the
// store holds what it held before the call.
class Store {
 public:
  virtual ~Store() = default;

  // The records of the fabric `fabric` (any text that tells it from others). None if the store is
  // of another fabric, or of none; it is begun anew then.
  virtual absl::StatusOr<std::vector<std::string>> Open(const std::string& fabric) = 0;
  // Forgets what there is. What is appended from now on is of `fabric`.
  virtual absl::Status Begin(const std::string& fabric) = 0;
  // All or none of them; on disk when it returns OK.
  virtual absl::Status Append(const std::vector<std::string>& records) = 0;
  // Takes back the last Append.
  virtual absl::Status TakeBack() = 0;
  // Leaves only what the last Append brought.
  virtual absl::Status KeepLast() = 0;
  // Forgets everything, because no fabric is loaded any more.
  virtual absl::Status Remove() = 0;
};

// Keeps nothing: for controllers without a run directory.
std::unique_ptr<Store> MakeForgetfulStore();

}  // namespace bfly::control
