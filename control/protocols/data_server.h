// SPDX-License-Identifier: Apache-2.0
// The data server on the randomly-wired butterfly RB_n (Cole et al. 1998, section 3; THEORY.md 2.6,
// 2.7). Users are at the inputs and disks at the outputs. Each object is on one disk of each half
// of the disks.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/protocols/link_load.h"
#include "control/protocols/protocol.h"

namespace bfly::control {

// The disks of an object's two copies: one of 0..rows/2-1, one of rows/2..rows-1.
using Copies = std::array<Row, 2>;

// Both disks of each object 0..objects-1, independent and uniform.
std::vector<Copies> PlaceInTwoCopies(uint32_t rows, uint32_t objects, uint64_t seed);
// One uniform disk for each object; the baseline with a single copy.
std::vector<Row> PlaceInOneCopy(uint32_t rows, uint32_t objects, uint64_t seed);

struct DataServerRequest {
  Row user = 0;
  Copies copies = {};
};

struct DataServerOptions {
  uint32_t c = 0;           // paths a link may have; 0: max(c_disk, smallest c with c! >= 2 log n)
  uint32_t c_disk = 0;      // paths a disk may have; 0: 5, the least the theorem allows
  uint32_t max_rounds = 0;  // 0: until all have a path or a round selects nothing
  uint32_t workers = 0;     // threads, 1..kMaxWorkers; 0: 1. The result is the same
};

// Returns `options` with every threshold that is 0 replaced by the one of Theorem 3.1.
DataServerOptions WithThresholds(DataServerOptions options, int dimension);

// What stands already and which links are faulty. Null: nothing.
struct StandingReads {
  const LinkLoad* links = nullptr;
  const std::vector<uint32_t>* disks = nullptr;  // readers of each disk
  const FaultSet* faults = nullptr;              // faulty links, which paths avoid
};

// Paths are in the order of the requests. Choice kP is the copy in the first half.
struct DataServerResult {
  RouteResult route;
  uint32_t disk_contention = 0;  // most paths that end at one disk
  uint32_t c_disk = 0;           // collision: the disks' threshold in force
};

// InvalidArgument names a user or disk that is out of range, a user who asks twice, or a copy in
// the wrong half. FailedPrecondition: the network is not an RB_n.
absl::StatusOr<DataServerResult> RouteDataServerCollision(
    const Network& network, const std::vector<DataServerRequest>& requests,
    const DataServerOptions& options = {}, const StandingReads& standing = {});
// Routes the requests one after the other by the minimum protocol.
absl::StatusOr<DataServerResult> RouteDataServerMinimum(
    const Network& network, const std::vector<DataServerRequest>& requests,
    const StandingReads& standing = {});
// users[i] reads disks[i].
absl::StatusOr<DataServerResult> RouteDataServerSingleCopy(const Network& network,
                                                           const std::vector<Row>& users,
                                                           const std::vector<Row>& disks,
                                                           const StandingReads& standing = {});

// The cost of a path in the minimum protocol: the larger of the circuits on its fullest link and
// the readers of its disk.
uint32_t CostOfCopy(const LinkLoad& load, const std::vector<uint32_t>& readers, Row user, Row disk);
// Chooses the path to the cheaper copy, the first copy if they tie. If `faults` break one of the
// two paths only, the other path is chosen.
CircuitPath ChooseCopy(const LinkLoad& load, const std::vector<uint32_t>& readers, Row user,
                       Copies copies, const FaultSet* faults = nullptr);

// The dynamic data server takes, of an object's two paths, the one with the smaller max(fullest
// link, disk), and the first copy's path if they tie. A user reads one object at a time; a disk
// serves many users.
class DataServer {
 public:
  // FailedPrecondition: the network is not an RB_n. `network` must outlive the object.
  static absl::StatusOr<DataServer> Make(const Network& network);

  // InvalidArgument as above. FailedPrecondition: the user is busy. An error changes nothing.
  absl::StatusOr<CircuitPath> SetUp(Row user, Copies copies);
  // NotFound: the user reads nothing.
  absl::StatusOr<CircuitPath> Release(Row user);

  const LinkLoad& load() const { return load_; }
  const std::vector<uint32_t>& disk_load() const { return disk_load_; }
  // The user's path, or null.
  const CircuitPath* AtUser(Row user) const;

 private:
  explicit DataServer(const Network& network);

  LinkLoad load_;
  std::vector<uint32_t> disk_load_;
  std::vector<CircuitPath> by_user_;
  std::vector<bool> busy_;
};

}  // namespace bfly::control
