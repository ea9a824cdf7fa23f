// SPDX-License-Identifier: Apache-2.0
// What a controller must know after a restart and no data plane can tell it: where objects are
// placed. Data planes hold the topology and the circuits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

// The placements of one fabric, as records in the order in which they were done. Not thread-safe.
//
// A store that cannot be read is never taken for an empty one: every call returns the reason until
// the operator has done what the error says. After an error the store holds what it held before the
// call.
// DATA_LOSS: the store is damaged, or the file is not a store.
// FAILED_PRECONDITION: a newer bfly wrote the store.
// ABORTED: another process holds it.
// RESOURCE_EXHAUSTED: the store is full.
// INTERNAL: the system cannot read or write the store.
class Store {
 public:
  virtual ~Store() = default;

  // Returns the records of the fabric that the text `fabric` identifies. If the store has another
  // fabric or none, it begins anew and returns no records.
  virtual absl::StatusOr<std::vector<std::string>> Open(const std::string& fabric) = 0;
  // Forgets all records. Later records are of `fabric`.
  virtual absl::Status Begin(const std::string& fabric) = 0;
  // Appends all records or none. They are on disk when it returns OK.
  virtual absl::Status Append(const std::vector<std::string>& records) = 0;
  // Takes back the last Append.
  virtual absl::Status TakeBack() = 0;
  // Leaves only the records of the last Append.
  virtual absl::Status KeepLast() = 0;
  // Forgets everything, because no fabric is loaded any more.
  virtual absl::Status Remove() = 0;
};

// Makes a store that keeps nothing, for controllers without a run directory.
std::unique_ptr<Store> MakeForgetfulStore();

}  // namespace bfly::control
