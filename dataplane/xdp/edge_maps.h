// SPDX-License-Identifier: Apache-2.0
// The maps of one loaded XDP program (edge_abi.h): its parameters are written and its counters read
// here.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/frames/frame.h"
#include "dataplane/runtime/owned_fd.h"
#include "dataplane/xdp/edge_abi.h"

namespace bfly::dataplane {

// What the program must know of the fabric.
struct EdgeRules {
  FrameRules frames;   // on a trunk, max_frame_bytes is with the trunk's headers
  bool trunk = false;  // the interface leads to another data plane, not to hosts
};

// "to_row" and so on: the names in JSON.
const char* EdgeCountName(edge_count count);

class EdgeMaps {
 public:
  // The maps of the program with this id. NotFound if it is not our program.
  static absl::StatusOr<EdgeMaps> OfProgram(uint32_t program_id);

  // Makes room for the row counters, then lets the program go. `owner_pid` and `owner_start` say
  // whose sockets it serves (see OwnerLives).
  absl::Status Configure(const EdgeRules& rules);

  // Whether the process that configured the program still runs.
  absl::StatusOr<bool> OwnerLives() const;

  // Rows in order, those without frames left out.
  absl::StatusOr<XdpCounters> Read() const;
  // By edge_count, summed over the CPUs.
  absl::StatusOr<std::array<uint64_t, EDGE_COUNTS>> ReadCounts() const;

 private:
  absl::Status ReadChunk(const OwnedFd& chunk, uint32_t first_row, XdpCounters& counters) const;

  OwnedFd config_, counts_, rows_;
  std::vector<OwnedFd> chunks_;  // EDGE_ROWS_PER_CHUNK rows each
};

}  // namespace bfly::dataplane
