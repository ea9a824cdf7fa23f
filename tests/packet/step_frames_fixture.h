// SPDX-License-Identifier: Apache-2.0
// What the tests of packets with frames share: fabrics whose buffers are counted, and hosts that
// take frames.
#pragma once

#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <memory>

#include "dataplane/fabric/loaded_fabric.h"
#include "dataplane/step_workers/loaded_step_programs.h"
#include "tests/packet/fabric_fixture.h"
#include "tests/packet/frame_bytes.h"
#include "tests/packet/ring_port.h"

namespace bfly::dataplane {

inline uint32_t BuffersInUse(const LoadedFabric& fabric) {
  return rte_mempool_in_use_count(fabric.frame_pool());
}

// The next frame that left by a port, whose buffer is returned; empty if there is none.
inline Bytes TakeFrame(RingPort& port) {
  rte_mbuf* const frame = port.Receive();
  if (frame == nullptr) return {};
  EXPECT_EQ(frame->nb_segs, 1);
  const auto* const bytes = rte_pktmbuf_mtod(frame, const uint8_t*);
  Bytes copy(bytes, bytes + frame->pkt_len);
  rte_pktmbuf_free(frame);
  return copy;
}

inline int FreeFrames(RingPort& port) {
  int frames = 0;
  while (!TakeFrame(port).empty()) ++frames;
  return frames;
}

inline StageCrew& CrewOf(Fabric& fabric) {
  return dynamic_cast<LoadedStepPrograms&>(**fabric.step_programs()).crew();
}

inline absl::StatusOr<StepRun> RunWithFrames(Fabric& fabric, const RouteRequest& request,
                                             uint32_t bytes,
                                             const char* program = "store_and_forward") {
  // Several workers on a busy CPU take a while to wait for each other a thousand times.
  CrewOf(fabric).set_fewest_barriers(10);
  return (*fabric.step_programs())
      ->Run(program, FaultSet(fabric.network()), request, {.frame_bytes = bytes}, nullptr);
}

inline std::unique_ptr<LoadedFabric> MustLoadWith(
    const FabricConfig& config, const LoadedFabric::InletFactory& inlets = nullptr) {
  auto fabric = LoadedFabric::Load(config, inlets);
  EXPECT_TRUE(fabric.ok()) << fabric.status();
  return fabric.ok() ? *std::move(fabric) : nullptr;
}

// Every packet from `rows` inputs, `each` of an input, goes to one output.
inline Relation AllTo(Row output, uint32_t rows, uint32_t each) {
  Relation relation;
  for (Row row = 0; row <= rows; ++row) relation.first.push_back(row * each);
  relation.destinations.assign(size_t{rows} * each, output);
  return relation;
}

}  // namespace bfly::dataplane
