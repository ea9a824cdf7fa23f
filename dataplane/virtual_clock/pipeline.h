// SPDX-License-Identifier: Apache-2.0
// The workers of the virtual clock and the windows of packets that they hand each other.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dataplane/virtual_clock/boundary.h"
#include "dataplane/virtual_clock/delay_sink.h"
#include "dataplane/virtual_clock/source.h"
#include "dataplane/virtual_clock/stage_group.h"
#include "dataplane/virtual_clock/window_plan.h"
#include "topologies/network.h"

namespace bfly::dataplane {

class Pipeline {
 public:
  // first_stages[w]: the first stage of worker w. crew: how many threads share the blocks of each
  // stage. stage_delays: whether the delays of each stage are counted too (links that are not
  // FIFO).
  Pipeline(const Network& network, const std::vector<int>& first_stages, int crew,
           const LinkService& service, const WindowPlan& plan, bool stage_delays);
  ~Pipeline();

  struct Account {
    Ticks end = 0;                // the end of the last period
    uint64_t generated = 0;       // packets generated in the whole run
    uint64_t born_measured = 0;   // packets generated in [start, end)
    uint64_t delivered_then = 0;  // deliveries in [start, end) of packets born at any time
    double mean_population =
        0;  // the mean number of packets inside, over the ends of the periods in [start, end)
  };

  // The times of a run: the length of a period, the time that is measured, and when the run ends at
  // the latest.
  struct Times {
    Ticks period = 1;
    Ticks start = 0, end = 0;
    Ticks give_up = 0;
  };
  // Runs the network and counts at the ends of periods. A new period begins at 0, at `start` and at
  // `end`. Sources go on after `end`, since later packets delay earlier ones. The run ends with the
  // period in which the last packet born before `end` is delivered, at `give_up` at the latest.
  // classes: the source of the packets' classes, or null. At the end `sink` has all deliveries;
  // until then each thread of the crew adds its deliveries to a copy of it.
  Account Run(VirtualSource& source, ClassSource* classes, DelaySink& sink, const Times& times);

  uint64_t queued() const;
  uint64_t handled() const;
  // For each stage: the mean of departure - arrival, in units, over the packets that ServedCount
  // measures.
  std::vector<double> StageDelays(Ticks unit) const;
  // For each stage: the histogram of these delays. Empty without stage_delays.
  std::vector<DelayHistogram> StageHistograms() const;
  // How many packets left by each link in [start, end), indexed by network link.
  std::vector<uint64_t> TakeLinkPackets() { return std::move(link_packets_); }
  size_t bytes() const;

 private:
  class Handover;
  class OneRun;
  struct Worker;

  // Sets `link_packets_` of the worker's links to the number of packets that they carried since the
  // previous call.
  void CountLinks(const Worker& worker);

  const Network& network_;
  const WindowPlan plan_;
  std::vector<uint64_t> link_packets_;  // every worker writes the entries of its own stages
  size_t sink_bytes_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace bfly::dataplane
