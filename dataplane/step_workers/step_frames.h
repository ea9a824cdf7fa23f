// SPDX-License-Identifier: Apache-2.0
// The frames of the packets of one run of a step program. A frame does not travel: it stays in a
// table, which is indexed by packet, until its packet has crossed the last link. Then it leaves the
// fabric from there.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/core/descriptor.h"
#include "topologies/network.h"
#include "topologies/relation.h"

struct rte_mempool;

namespace bfly::dataplane {

// The buffers and ports that a fabric has for frames.
struct StepFrameSupply {
  rte_mempool* pool = nullptr;  // null: the fabric has no ports
  uint32_t max_bytes = 0;       // the longest frame, without FCS
  std::vector<bool> has_port;   // whether each row has a port
  // Ports do not turn row addresses into addresses of hosts, so frames have the broadcast address.
  bool to_everybody = false;
};

// The counts of the packets that a program put at the inputs, and of their frames.
struct StepFrameCounts {
  uint64_t made = 0;            // frames that were made
  uint64_t without_buffer = 0;  // packets that go on without a frame, because no buffer was free
  uint64_t to_ports = 0;        // frames given to the host port of their output row
  uint64_t to_sinks = 0;        // frames that ended at an output row without a port

  void Add(const StepFrameCounts& other) {
    made += other.made;
    without_buffer += other.without_buffer;
    to_ports += other.to_ports;
    to_sinks += other.to_sinks;
  }
};

// The worker at whose nodes a packet stands is the only one that touches its frame.
class StepFrames {
 public:
  // InvalidArgument: `bytes` is outside kShortestStepFrame..supply.max_bytes. FailedPrecondition:
  // the fabric has no ports. ResourceExhausted: the packets may need more than half of the buffers
  // that are free now. The message says how many buffers and bytes they need. All arguments outlive
  // the object.
  static absl::StatusOr<std::unique_ptr<StepFrames>> Make(const Network& network,
                                                          const StepFrameSupply& supply,
                                                          const Relation& relation, uint32_t bytes);

  uint32_t bytes() const { return bytes_; }
  bool has_port(Row output) const { return supply_.has_port[output]; }

  // Makes the frame of a packet that begins at `now` (TSC). If no buffer is free, the packet gets
  // no frame.
  void Begin(uint32_t packet, Row input, uint64_t now, StepFrameCounts& counts);
  // Returns the packet with its frame behind the last hop, at `output`, where it arrived at `now`
  // (TSC). The frame belongs to the caller; it is null if the packet has no frame.
  Descriptor Take(uint32_t packet, Row output, uint64_t now);

  // Frees the frames that were not taken. No worker may run a part during the call.
  void Discard();

 private:
  struct Frame {
    rte_mbuf* mbuf = nullptr;
    uint64_t begun = 0;  // TSC
    Row input = 0;
  };
  StepFrames(const Network& network, const StepFrameSupply& supply, const Relation& relation,
             uint32_t bytes)
      : network_(network),
        supply_(supply),
        relation_(relation),
        bytes_(bytes),
        of_packet_(relation.destinations.size()) {}

  const Network& network_;
  const StepFrameSupply supply_;
  const Relation& relation_;
  const uint32_t bytes_;
  std::vector<Frame> of_packet_;
};

}  // namespace bfly::dataplane
