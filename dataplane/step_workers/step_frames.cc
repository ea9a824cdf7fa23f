// SPDX-License-Identifier: Apache-2.0
#include "dataplane/step_workers/step_frames.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/frames/step_frame.h"

namespace bfly::dataplane {

absl::StatusOr<std::unique_ptr<StepFrames>> StepFrames::Make(const Network& network,
                                                             const StepFrameSupply& supply,
                                                             const Relation& relation,
                                                             uint32_t bytes) {
  if (supply.pool == nullptr) {
    return absl::FailedPreconditionError(
        "frame_bytes: the fabric has no host port, so it has no buffers for frames and nobody "
        "would receive one; load a topology with `ports`, or leave frame_bytes out");
  }
  if (bytes < kShortestStepFrame || bytes > supply.max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("frame_bytes: ", bytes, " is outside ",
                                                   kShortestStepFrame, "..", supply.max_bytes,
                                                   ", the frames that this fabric takes"));
  }
  const uint64_t packets = relation.destinations.size();
  const uint64_t unused = rte_mempool_avail_count(supply.pool);
  if (packets > unused / 2) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "frame_bytes: ", packets, " packets may need as many buffers at once, ",
        packets * supply.pool->elt_size, " bytes, and a run may take half of the ", unused,
        " buffers that are free, ", unused / 2,
        "; the rest is for data. Send fewer packets in a run, ", "or leave frame_bytes out"));
  }
  return std::unique_ptr<StepFrames>(new StepFrames(network, supply, relation, bytes));
}

void StepFrames::Begin(uint32_t packet, Row input, uint64_t now, StepFrameCounts& counts) {
  rte_mbuf* const mbuf = rte_pktmbuf_alloc(supply_.pool);
  if (mbuf == nullptr) {
    ++counts.without_buffer;
    return;
  }
  ++counts.made;
  // A buffer has room for the longest frame of the fabric.
  mbuf->data_len = static_cast<uint16_t>(bytes_);
  mbuf->pkt_len = bytes_;
  const Row output = relation_.destinations[packet];
  WriteStepFrame({.input = input,
                  .output = output,
                  .tag = ToWire(GreedyTag(network_, input, output), network_.tag_layout().bits()),
                  .number = packet,
                  .to_everybody = supply_.to_everybody},
                 bytes_, rte_pktmbuf_mtod(mbuf, uint8_t*));
  of_packet_[packet] = {.mbuf = mbuf, .begun = now, .input = input};
}

Descriptor StepFrames::Take(uint32_t packet, Row output, uint64_t now) {
  Frame& frame = of_packet_[packet];
  return {.tag = kWireTagDone,
          .mbuf = std::exchange(frame.mbuf, nullptr),
          .time = frame.begun,
          .row = output,
          .bytes = static_cast<uint16_t>(bytes_),
          .input = static_cast<uint16_t>(frame.input),
          .arrival = now};
}

void StepFrames::Discard() {
  for (Frame& frame : of_packet_) rte_pktmbuf_free(std::exchange(frame.mbuf, nullptr));
}

}  // namespace bfly::dataplane
