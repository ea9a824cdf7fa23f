// SPDX-License-Identifier: Apache-2.0
// The maps of one loaded XDP program (edge_abi.h). EdgeMaps writes its parameters and reads its
// counters.
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

// The parameters of the fabric that the program must know.
struct EdgeRules {
  FrameRules frames;   // on a trunk, max_frame_bytes includes the trunk's headers
  bool trunk = false;  // the interface leads to another data plane, not to hosts
};

// The outcome's name in JSON, such as "to_row".
const char* EdgeCountName(edge_count count);

class EdgeMaps {
 public:
  // The maps of the program with this id. NotFound: the program is not bfly's.
  static absl::StatusOr<EdgeMaps> OfProgram(uint32_t program_id);

  // Makes room for the row counters, then starts the program. Records this process as the owner of
  // the sockets that the program serves (see OwnerLives).
  absl::Status Configure(const EdgeRules& rules);

  // True if the process that configured the program still runs, or if a queue has a socket. The
  // kernel takes the sockets of a dead process out of the program, and unlike a process it shows
  // them to containers with process numbers of their own.
  absl::StatusOr<bool> OwnerLives() const;

  // Rows ascend; rows without frames are left out.
  absl::StatusOr<XdpCounters> Read() const;
  // One count for each edge_count, summed over the CPUs.
  absl::StatusOr<std::array<uint64_t, EDGE_COUNTS>> ReadCounts() const;

 private:
  absl::StatusOr<bool> HasSocket() const;
  absl::Status ReadChunk(const OwnedFd& chunk, uint32_t first_row, XdpCounters& counters) const;

  OwnedFd config_, counts_, rows_, sockets_;
  std::vector<OwnedFd> chunks_;  // each has EDGE_ROWS_PER_CHUNK rows
};

}  // namespace bfly::dataplane
