// SPDX-License-Identifier: Apache-2.0
// How `bfly status` says what a worker's work costs.
#include <gtest/gtest.h>

#include "control/cli/text.h"

namespace bfly::control {
namespace {

TEST(CostLines, NameCyclesPollsStagesAndRings) {
  v1::WorkerCost cost;
  cost.set_tsc_hz(2'450'000'000);
  cost.set_frames(1000);
  cost.set_cycles_per_frame(61.54);
  cost.set_cycles_per_hop(10.26);
  cost.set_polls(160);
  cost.set_empty_polls(120);
  for (const uint64_t polls : {10, 8, 0, 0, 0, 2, 20}) cost.add_bursts(polls);
  v1::StageCost* stage = cost.add_stages();
  stage->set_first_stage(0);
  stage->set_stages(3);
  stage->set_cycles_per_hop(4.04);
  stage = cost.add_stages();
  stage->set_first_stage(3);
  stage->set_stages(1);
  stage->set_cycles_per_hop(25.5);
  v1::RingOccupancy* ring = cost.add_rings();
  ring->set_from_lcore(2);
  ring->set_packets(7);
  ring->set_peak(512);
  ring->set_capacity(1023);
  EXPECT_EQ(CostLines(cost),
            "      61.5 cycles a frame, 10.3 a hop (2.45 GHz); 75 % of 160 polls empty; bursts: "
            "1 frame 25 %, 2-3 frames 20 %, 32-63 frames 5 %, 64 frames 50 %\n"
            "      stages 0-2 in one step: 4.0 cycles a hop\n"
            "      stage 3: 25.5 cycles a hop\n"
            "      ring from lcore 2: 7 packets wait, at most 512 of 1023\n");
}

TEST(CostLines, OfAWorkerThatPolledNothingAreEmpty) {
  v1::WorkerCost cost;
  cost.set_polls(160);
  cost.set_empty_polls(160);
  EXPECT_EQ(CostLines(cost), "");
}

TEST(PortLine, NamesTheLcoresAndWhatBringsFramesToTheirWorker) {
  v1::PortStatus port;
  port.set_name("p0");
  port.set_queue_pairs(4);
  for (uint32_t lcore : {5, 0, 1}) port.add_lcores(lcore);
  port.set_steering(v1::PortStatus::FLOW_RULES);
  EXPECT_EQ(PortLine(port),
            "p0: 4 queue pairs, lcores 0-1,5; flow rules of the device bring each frame to its "
            "worker");
  port.set_steering(v1::PortStatus::RSS);
  EXPECT_EQ(PortLine(port),
            "p0: 4 queue pairs, lcores 0-1,5; the device spreads flows (RSS), workers hand frames "
            "over");
  port.set_steering(v1::PortStatus::SOFTWARE);
  EXPECT_EQ(PortLine(port), "p0: 4 queue pairs, lcores 0-1,5; workers hand frames over");
  port.set_steering(v1::PortStatus::SENDER);
  EXPECT_EQ(PortLine(port),
            "p0: 4 queue pairs, lcores 0-1,5; the sending end brings each frame to its worker");
  port.set_rows_handed_over(1);
  EXPECT_EQ(PortLine(port),
            "p0: 4 queue pairs, lcores 0-1,5; the sending end brings frames to their workers; "
            "workers hand over those of 1 row");
  port.set_rows_handed_over(6);
  port.set_steering(v1::PortStatus::FLOW_RULES);
  EXPECT_EQ(PortLine(port),
            "p0: 4 queue pairs, lcores 0-1,5; flow rules of the device bring frames to their "
            "workers; workers hand over those of 6 rows");
  port.clear_rows_handed_over();
  port.clear_lcores();
  port.add_lcores(3);
  port.set_steering(v1::PortStatus::STEERING_UNSPECIFIED);
  EXPECT_EQ(PortLine(port), "p0: 4 queue pairs, lcore 3");
  port.set_queue_pairs(1);
  EXPECT_EQ(PortLine(port), "");
  port.set_steering(v1::PortStatus::SOFTWARE);
  EXPECT_EQ(PortLine(port), "p0: 1 queue pair, lcore 3; workers hand frames over");
}

}  // namespace
}  // namespace bfly::control
