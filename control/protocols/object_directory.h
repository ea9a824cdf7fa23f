// SPDX-License-Identifier: Apache-2.0
// The disks that hold each object of a data server: one disk, or two with a copy in each half of
// the disks (Cole et al. 1998, section 3).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "control/protocols/data_server.h"

namespace bfly::control {

struct Placement {
  uint64_t object = 0;
  std::vector<Row> disks;  // one disk; or two, in the first and in the second half
};

class ObjectDirectory {
 public:
  struct Disks {
    Copies disks = {};
    int copies = 0;  // 1: disks[0] alone
  };

  // `rows` disks.
  explicit ObjectDirectory(Row rows) : load_(rows) {}

  // Places all objects or none. InvalidArgument: a disk is out of range or in the wrong half, or an
  // object comes twice. AlreadyExists: an object is placed already. ResourceExhausted: a disk would
  // hold more than `room` objects (0: no limit). Errors name "objects[i]".
  absl::Status Place(const std::vector<Placement>& placements, uint32_t room);
  // Takes these objects, which it holds on these disks, out again.
  void Remove(const std::vector<Placement>& placements);
  // Returns null if there is no such object.
  const Disks* Find(uint64_t object) const;

  size_t size() const { return where_.size(); }
  // The number of objects on the fullest disk.
  uint32_t most_on_disk() const;

 private:
  absl::Status PlaceOne(const Placement& placement, uint32_t room);
  void RemoveOne(const Placement& placement);

  std::unordered_map<uint64_t, Disks> where_;
  std::vector<uint32_t> load_;  // objects on each disk
};

// Places objects first..first+count-1 in one or two copies on uniformly random disks. The disks are
// a pure function of (seed, object), the same as those of PlaceInOneCopy and PlaceInTwoCopies.
std::vector<Placement> RandomPlacements(Row rows, uint64_t first, uint32_t count, int copies,
                                        uint64_t seed);

}  // namespace bfly::control
