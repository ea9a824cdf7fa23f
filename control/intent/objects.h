// SPDX-License-Identifier: Apache-2.0
// The data server of a fabric: which object is on which disks, and who reads it. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/intent/circuits.h"
#include "control/intent/intent_change.h"
#include "control/intent/order.h"
#include "control/intent/read_order.h"
#include "control/protocols/object_directory.h"
#include "topologies/network.h"

namespace bfly::control {

// Turns the error of one read into the error of read number `i` of many: "user" becomes "users[i]",
// "object" becomes "objects[i]", and other fields stand under "users[i]". An error without fields
// stays as it is.
absl::Status WithIndex(const absl::Status& status, size_t i);

class Objects {
 public:
  // Both must outlive the object.
  Objects(const Network& network, const Circuits& circuits);

  const ObjectDirectory& directory() const { return *directory_; }
  // Places all objects or none. Errors name "objects[i]" and "replace".
  absl::StatusOr<PlaceEdit> Place(PlaceOrder order);
  // Undoes a placement that Place did, or does it again. The placements after it must be undone.
  void Undo(const PlaceEdit& edit);
  void Redo(const PlaceEdit& edit);

  bool IsRead(uint64_t object) const { return reader_of_.count(object) != 0; }
  // The circuit is put up, or taken down. A circuit that reads no object changes nothing here.
  void NotePutUp(const StandingCircuit& circuit);
  void NoteTakenDown(const StandingCircuit& circuit);

  // FAILED_PRECONDITION: the network is not an RB_n.
  absl::Status CheckDataServer() const;
  // Errors name "user" and "object".
  absl::Status CheckRead(Row user, uint64_t object) const;
  // FAILED_PRECONDITION names "object": a circuit that is not a read holds the output of the disk.
  absl::Status CheckDisk(Row disk) const;
  // Errors name "users[i]" and "objects[i]", or a threshold for objects in one copy.
  absl::Status CheckReads(const ReadBatchOrder& order) const;
  // The number of copies of each object of the batch, which CheckReads has let pass; 0 if the batch
  // asks for none.
  uint32_t CopiesOf(const ReadBatchOrder& order) const;
  // NOT_FOUND: the user reads nothing.
  absl::Status CheckStopReading(Row user) const;

 private:
  const Network& network_;
  const Circuits& circuits_;
  std::shared_ptr<ObjectDirectory> directory_;
  std::unordered_map<uint64_t, Row> reader_of_;
};

}  // namespace bfly::control
