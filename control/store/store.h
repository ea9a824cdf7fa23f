// SPDX-License-Identifier: Apache-2.0
// What a controller must know after a restart and no data plane can tell it. A data plane that ran
// on holds the topology and the circuits, but nobody else knows where objects are placed. After a
// reboot nobody else knows anything.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

// Everything that is kept of a fabric. The store does not know what the bytes mean.
struct KeptFabric {
  std::string fabric;                   // the text that identifies it
  std::string state;                    // empty: it was never kept
  std::vector<std::string> circuits;    // by input
  std::vector<std::string> placements;  // in the order in which they were done
};

struct KeptChange {
  std::string state;
  bool forget_circuits = false;  // all that are kept so far
  // By input. With empty bytes no circuit stands at the input any more.
  std::vector<std::pair<uint32_t, std::string>> circuits = {};
};

// What one fabric is meant to be. Placements are written before they are answered, the rest a
// moment later. Thread-safe.
//
// A store that cannot be read is never taken for an empty one: every call returns the reason until
// the operator has done what the error says. After an error the store holds what it held before the
// call.
// DATA_LOSS: the store is damaged, or the file is not a store.
// NOT_FOUND: the file was removed, or another one was moved into its place, while a fabric was kept
// in it. No more of that fabric is kept; Read, Begin and Open take what is there now.
// FAILED_PRECONDITION: a newer bfly wrote the store.
// ABORTED: another process holds it.
// RESOURCE_EXHAUSTED: the store is full.
// INTERNAL: the system cannot read or write the store.
class Store {
 public:
  virtual ~Store() = default;

  // Returns all that is kept, of whatever fabric. Nothing: no fabric is kept.
  virtual absl::StatusOr<std::optional<KeptFabric>> Read() = 0;
  // Returns the placements of the fabric that the text `fabric` identifies. If the store has
  // another fabric, that is set aside, and the store begins anew.
  virtual absl::StatusOr<std::vector<std::string>> Open(const std::string& fabric) = 0;
  // Begins anew with `fabric`, and keeps `state` of it unless that is empty. What was kept before
  // is forgotten or, with `set_aside`, takes the place of what was set aside before. All of it is
  // done or nothing. After an error the next Append or Keep does it first, so that nothing of
  // `fabric` is mixed with what was kept before.
  virtual absl::Status Begin(const std::string& fabric, const std::string& state = "",
                             bool set_aside = false) = 0;
  // Appends all placements or none. They are on disk when it returns OK.
  virtual absl::Status Append(const std::vector<std::string>& placements) = 0;
  // Takes back the last Append.
  virtual absl::Status TakeBack() = 0;
  // Leaves only the placements of the last Append.
  virtual absl::Status KeepLast() = 0;
  // Makes all of the change or nothing. It is on disk when it returns OK.
  virtual absl::Status Keep(const KeptChange& change) = 0;
  // Leaves all that is kept in the one file, without a log, so that the file can be copied, moved
  // away and replaced until a call writes again.
  virtual absl::Status Close() = 0;
  // The store's file, for messages.
  virtual std::string path() const = 0;
  // The file to which an older store is moved.
  std::string aside() const { return path() + ".before"; }
};

// Makes a store that keeps nothing, for controllers without a run directory.
std::unique_ptr<Store> MakeForgetfulStore();

}  // namespace bfly::control
