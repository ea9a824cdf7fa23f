// SPDX-License-Identifier: Apache-2.0
// The workers of the virtual clock and what they hand each other.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dataplane/virtual_clock/boundary.h"
#include "dataplane/virtual_clock/delay_sink.h"
#include "dataplane/virtual_clock/source.h"
#include "dataplane/virtual_clock/stage_group.h"
#include "dataplane/virtual_clock/vectors.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// How stages cut time.
struct WindowPlan {
  Ticks length = 0;      // of a window
  int bucket_bits = -1;  // as in StageWindow
  bool narrow = false;   // likewise
  double packets = 0;    // that a row generates in a window, in the mean
};

// Chooses the length of windows. `vectors` allows packets to be taken eight at a time.
WindowPlan PlanWindows(const Network& network, double rate, Ticks unit, Vectors vectors);
// The same for windows of a given length.
WindowPlan PlanWindows(const Network& network, double rate, Ticks unit, Vectors vectors,
                       Ticks length);

// The same for links that are not FIFO.
WindowPlan PlanServedWindows(double rate, Ticks unit);

class Pipeline {
 public:
  // first_stages[w]: the first stage of worker w. crew: threads that share the blocks of each
  // stage. stage_delays: count the delays of each stage too (links that are not FIFO).
  Pipeline(const Network& network, const std::vector<int>& first_stages, int crew,
           const LinkService& service, const WindowPlan& plan, bool stage_delays);
  ~Pipeline();

  struct Account {
    Ticks end = 0;                // of the last period
    uint64_t generated = 0;       // in the whole run
    uint64_t born_measured = 0;   // packets generated in [start, end)
    uint64_t delivered_then = 0;  // deliveries in [start, end), whenever born
    double mean_population =
        0;  // packets inside, mean over the ends of the periods in [start, end)
  };

  // Runs the network and counts at the ends of periods of `period` ticks. A new period begins at 0,
  // at `start` and at `end`. Sources go on after `end`, since later packets delay earlier ones. The
  // run ends with the period in which the last packet born before `end` is delivered, at `give_up`
  // at the latest. classes: of the packets, or null. `sink` has all deliveries in the end;
  // meanwhile each thread of the crew takes its own in a copy of it.
  Account Run(VirtualSource& source, ClassSource* classes, DelaySink& sink, Ticks period,
              Ticks start, Ticks end, Ticks give_up);

  uint64_t queued() const;
  uint64_t handled() const;
  // Per stage: mean of departure - arrival over the packets that ServedCount measures, in units.
  std::vector<double> StageDelays(Ticks unit) const;
  // The same with percentiles; empty without stage_delays.
  std::vector<DelayHistogram> StageHistograms() const;
  // Packets that left by each link in [start, end), by network link index.
  std::vector<uint64_t> TakeLinkPackets() { return std::move(link_packets_); }
  size_t bytes() const;

 private:
  class Handover;
  struct Worker;

  // Makes `link_packets_` of the worker's links what they carried since the call before.
  void CountLinks(const Worker& worker);

  const Network& network_;
  const WindowPlan plan_;
  std::vector<uint64_t> link_packets_;  // every worker writes those of its own stages
  size_t sink_bytes_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace bfly::dataplane
