// SPDX-License-Identifier: Apache-2.0
// A levelled network under the virtual clock: unit service, exact times, as fast as the CPU allows.
//
// Time is cut into windows. A stage works through a whole window, block of rows by block of rows,
// and then the next stage does; nothing that leaves a link in a window can depend on later
// arrivals, so no barrier is needed and the result does not depend on the window's length, the
// blocks, or which worker runs which stage. Workers form a pipeline: while one is at window k, the
// next is at window k-1.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/links/discipline.h"
#include "dataplane/virtual_clock/delay_histogram.h"
#include "dataplane/virtual_clock/job.h"
#include "dataplane/virtual_clock/source.h"
#include "dataplane/virtual_clock/vectors.h"
#include "topologies/fault_set.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct VirtualConfig {
  ArrivalConfig arrivals;
  // Bits of the destination flipped with this probability, unless `fixed` names an output for each
  // input.
  double flip = 0.5;
  std::vector<Row> fixed;
  uint32_t slots_per_unit = 0;  // 0: continuous time
  double warmup = 0;            // units; packets born before are carried and not measured
  double duration = 0;          // units measured after the warm-up; births in them are measured
  int batches = 20;             // of equal length, for confidence intervals
  // first_stages[w]: the first stage worker w runs; first_stages[0] == 0. One entry: one worker.
  std::vector<int> first_stages{0};
  // Threads that share the rows of every stage, 1 to 256; more than one only without a placement of
  // stages. The result is the same for any number.
  int workers = 1;
  // Units by which time is cut and after which packets inside are counted; 0: chosen from the rate,
  // and cut as is fastest.
  double window = 0;
  // The vectors that may be used where CPU and network allow them: the same result with any.
  Vectors vectors = Vectors::kWidest;

  // Links and switches that are down from the start to the end, or null. They are about the network
  // of the run. Packets take no link that is down or leads to a switch that counts as faulty
  // (topologies/faulty_switches.h), and in extra stages the other direction where their own has no
  // other link. Packets of inputs that count as faulty, and for outputs that no input reaches, are
  // left out.
  const FaultSet* faults = nullptr;

  // With faults, with several ports a direction, with shared switch outputs, one packet a slot or
  // occupancy, with percentiles of FIFO stages or more than 8 classes a run has no placement of
  // stages and is several times slower.
  Discipline discipline = Discipline::kFifo;
  LinkModel links = LinkModel::kEdge;
  // kPriority: a packet belongs to class i with probability class_shares[i], for its whole trip.
  // Class 0 is the most urgent; the shares sum to 1.
  std::vector<double> class_shares;
  // kSlotBatch: a row generates one packet in a slot with probability rate * slot, at most 1, and
  // never more (Bernoulli arrivals).
  bool one_a_slot = false;
  bool stage_percentiles = false;
  bool occupancy = false;
};

// Sums over the packets of one batch, by time of birth.
struct DelayBatch {
  uint64_t packets = 0;
  double delay_sum = 0;  // units
};

// Departure - arrival at the links of one stage that take time, over the packets born in the
// measured time, in units.
struct StageDelay {
  double mean = 0, p50 = 0, p99 = 0;
};

struct VirtualResult {
  // The account at the end of the run, all packets: injected == delivered + in_flight.
  uint64_t injected = 0;
  uint64_t delivered = 0;
  uint64_t in_flight = 0;
  uint64_t hops = 0;  // links joined
  uint64_t left_out =
      0;  // born in the whole run and not sent, because of faults; not in `injected`

  // Packets born in the measured time and delivered before the end of the run.
  uint64_t measured = 0;
  uint64_t unfinished =
      0;  // born in the measured time and still inside at the end: 0 unless saturated
  double mean_delay = 0;  // units
  double p50 = 0, p99 = 0, max = 0;
  std::vector<DelayBatch> batches;
  // Born in the measured time and sent, per row and unit of time; delivered in it.
  double offered = 0;
  double accepted = 0;
  // Mean of departure - arrival at each stage: of plain FIFO links over all packets of the run,
  // also those of the warm-up; else over the packets born in the measured time.
  std::vector<double> stage_delay;
  // Mean number of packets in the network over the ends of windows in the measured time, as
  // VirtualConfig means windows.
  double mean_population = 0;
  std::vector<StageDelay> stages;   // with stage_percentiles
  std::vector<double> class_delay;  // mean delay by class (kPriority)
  // With `occupancy`: share of the measured time a link of the kind holds 0, 1, ... 15 (or more)
  // packets. Empty where the network has no such link that takes time.
  std::vector<double> straight_occupancy, cross_occupancy;
  // Packets that left by each link in the measured time, by network link index.
  std::vector<uint64_t> link_packets;
  double end_time = 0;     // units
  double seconds = 0;      // wall time
  double cpu_seconds = 0;  // of the whole process meanwhile
  // All memory the run held for the network at its largest: links, what waits for them
  // (queued_bytes at the end of the run), packets on their way between stages, sources and sinks.
  size_t state_bytes = 0;
  size_t queued_bytes = 0;
};

// InvalidArgument if the network is not levelled (wrapped), a probability, rate or time is out of
// range, or first_stages is not ascending from 0.
absl::Status CheckVirtual(const Network& network, const VirtualConfig& config);
// What CheckVirtual says, or the run.
absl::StatusOr<VirtualResult> RunVirtual(const Network& network, const VirtualConfig& config);

}  // namespace bfly::dataplane
