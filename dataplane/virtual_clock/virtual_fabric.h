// SPDX-License-Identifier: Apache-2.0
// A levelled network under the virtual clock: unit service, exact times, as fast as the CPU allows.
//
// Time is cut into windows. A stage works through a whole window, block of rows by block of rows,
// and then the next stage does. A departure in a window cannot depend on later arrivals, so no
// barrier is needed and the result does not depend on the window's length, the blocks, or which
// worker runs which stage. Workers form a pipeline: while one worker is at window k, the next
// worker is at window k-1.
#pragma once

#include <memory>
#include <optional>
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
  // The probability with which each bit of the destination is flipped, unless `fixed` names an
  // output for each input.
  double flip = 0.5;
  std::vector<Row> fixed;
  uint32_t slots_per_unit = 0;  // 0: continuous time
  double warmup = 0;    // in units; packets born in the warm-up are carried but not measured
  double duration = 0;  // in units, after the warm-up; packets born in this time are measured
  int batches = 20;     // parts of equal length, for confidence intervals
  // first_stages[w]: the first stage worker w runs; first_stages[0] == 0. One entry: one worker.
  std::vector<int> first_stages{0};
  // Threads that share the rows of every stage, 1 to 256; more than one only without a placement of
  // stages. The result is the same for any number.
  int workers = 1;
  // The length, in units, of the windows into which time is cut and after which the packets inside
  // are counted. 0: bfly chooses from the rate when to count, and cuts time as is fastest.
  double window = 0;
  // The vectors that may be used if CPU and network allow them. The result is the same with any
  // vectors.
  Vectors vectors = Vectors::kWidest;

  // Links and switches of the run's network that are down from the start to the end, or null.
  // Packets take no link that is down or that leads to a switch that counts as faulty
  // (topologies/faulty_switches.h). In extra stages a packet takes the other direction if its own
  // direction has no other link. Packets of inputs that count as faulty, and packets for outputs
  // that no input reaches, are left out.
  const FaultSet* faults = nullptr;

  // With faults, with several ports per direction, with shared switch outputs, one packet per slot
  // or occupancy, with percentiles of FIFO stages or more than 8 classes a run has no placement of
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

// Sums over the packets of one batch. A packet belongs to the batch of its time of birth.
struct DelayBatch {
  uint64_t packets = 0;
  double delay_sum = 0;  // units
};

// Departure - arrival, in units, at the links of one stage that take time, over the packets born in
// the measured time.
struct StageDelay {
  double mean = 0, p50 = 0, p99 = 0;
};

struct VirtualResult {
  // The account of all packets at the end of the run: injected == delivered + in_flight.
  uint64_t injected = 0;
  uint64_t delivered = 0;
  uint64_t in_flight = 0;
  uint64_t hops = 0;  // how many links packets joined
  uint64_t left_out =
      0;  // packets born in the whole run that were not sent because of faults; not in `injected`

  // Packets born in the measured time and delivered before the end of the run.
  uint64_t measured = 0;
  uint64_t unfinished =
      0;  // packets born in the measured time that are still inside at the end; 0 unless saturated
  double mean_delay = 0;  // units
  double p50 = 0, p99 = 0, max = 0;
  std::vector<DelayBatch> batches;
  // offered: packets born in the measured time and sent, per row and unit of time. accepted:
  // packets delivered in the measured time, likewise.
  double offered = 0;
  double accepted = 0;
  // The mean of departure - arrival at each stage. For plain FIFO links it is over all packets of
  // the run, including the warm-up; otherwise over the packets born in the measured time.
  std::vector<double> stage_delay;
  // Mean number of packets in the network over the ends of windows (VirtualConfig::window) in the
  // measured time. In slotted time these are ends of slots. Links that share let packets go within
  // slots, and mean_population is then too small.
  double mean_population = 0;
  // With `occupancy`: the mean number of packets in the network over the measured time itself.
  std::optional<double> occupancy_population;
  std::vector<StageDelay> stages;  // with stage_percentiles
  // For each class (kPriority): the mean delay, and how many packets were measured.
  std::vector<double> class_delay;
  std::vector<uint64_t> class_measured;
  // With `occupancy`: the share of the measured time in which a link of the kind holds 0, 1, ... 15
  // (or more) packets. Empty if the network has no such link that takes time. With kSwitchOutput
  // only output_occupancy has entries, for the links that two nodes share.
  std::vector<double> straight_occupancy, cross_occupancy, output_occupancy;
  // How many packets left by each link in the measured time, indexed by network link. With
  // kSwitchOutput the link into a row is counted at port 0 of that row.
  std::vector<uint64_t> link_packets;
  double end_time = 0;     // units
  double seconds = 0;      // wall time
  double cpu_seconds = 0;  // CPU time of the whole process during the run
  // The most memory that the run held for the network: links, the packets that wait for them
  // (queued_bytes at the end of the run), packets on their way between stages, sources and sinks.
  size_t state_bytes = 0;
  size_t queued_bytes = 0;
};

// InvalidArgument if the network is not levelled (wrapped), a probability, rate or time is out of
// range, or first_stages is not ascending from 0.
absl::Status CheckVirtual(const Network& network, const VirtualConfig& config);
// Returns the error of CheckVirtual, or runs the network.
absl::StatusOr<VirtualResult> RunVirtual(const Network& network, const VirtualConfig& config);

}  // namespace bfly::dataplane
