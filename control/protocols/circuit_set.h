// SPDX-License-Identifier: Apache-2.0
// The circuits that stand on a network, and the load that they put on every link. An input has at
// most one circuit. An output has one circuit or, if it is a disk, any number of reads.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/protocols/link_load.h"
#include "control/protocols/protocol.h"

namespace bfly::control {

class CircuitSet {
 public:
  // `network` must outlive the object.
  explicit CircuitSet(const Network& network);

  // Sets up the path that `chooser` picks. InvalidArgument: a row is out of range.
  // FailedPrecondition names the input or output that is busy and the circuit that holds it. The
  // errors of PathChooser::Find. An error changes nothing.
  absl::StatusOr<CircuitPath> SetUp(const PathChooser& chooser, Row input, Row output);
  // Sets up a path that was chosen elsewhere. The same errors, and InvalidArgument if the tag does
  // not end at the path's output.
  absl::Status SetUp(const CircuitPath& path);
  // Sets up a path to a disk, which many users may read at once. FailedPrecondition also if a
  // circuit holds the output exclusively.
  absl::Status SetUpRead(const CircuitPath& path);
  // Sets up all paths or none.
  absl::Status SetUpAll(const std::vector<CircuitPath>& paths);
  // NotFound: there is no circuit at this input.
  absl::StatusOr<CircuitPath> Release(Row input);
  void Clear();

  absl::Status CheckFree(Row input, Row output) const;
  // The circuit at an input or output, or null.
  const CircuitPath* AtInput(Row input) const;
  const CircuitPath* AtOutput(Row output) const;
  // By output: the number of reads that end there.
  const std::vector<uint32_t>& readers() const { return readers_; }
  bool IsRead(Row input) const { return input < reads_.size() && reads_[input]; }
  size_t size() const { return size_; }
  // In the order of their inputs.
  std::vector<CircuitPath> circuits() const;
  const LinkLoad& load() const { return load_; }
  const Network& network() const { return load_.network(); }

 private:
  absl::Status CheckRange(Row input, Row output) const;
  absl::Status CheckEnd(const CircuitPath& path) const;
  void Put(const CircuitPath& path);

  LinkLoad load_;
  size_t size_ = 0;
  std::vector<CircuitPath> by_input_;
  std::vector<bool> input_busy_, reads_;
  std::vector<Row> input_of_output_;  // kNoInput: no circuit holds it exclusively
  std::vector<uint32_t> readers_;
};

}  // namespace bfly::control
