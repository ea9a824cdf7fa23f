// SPDX-License-Identifier: Apache-2.0
// The workers of the virtual clock and what they hand each other.
#pragma once

#include <memory>
#include <vector>

#include "dataplane/virtual_clock/boundary.h"
#include "dataplane/virtual_clock/delay_sink.h"
#include "dataplane/virtual_clock/source.h"
#include "dataplane/virtual_clock/stage_group.h"
#include "topologies/network.h"

namespace bfly::dataplane {

class Pipeline {
 public:
  // first_stages[w]: the first stage of worker w. crew: threads that share the blocks of each
  // stage. window_packets: about how many packets a row generates in a window. vectors: whether
  // stages may take packets eight at a time.
  Pipeline(const Network& network, const std::vector<int>& first_stages, int crew, Ticks unit,
           double window_packets, bool vectors);
  ~Pipeline();

  struct Account {
    Ticks end = 0;                // of the last window
    uint64_t generated = 0;       // in the whole run
    uint64_t born_measured = 0;   // packets generated in [start, end)
    uint64_t delivered_then = 0;  // deliveries in [start, end), whenever born
    double mean_population =
        0;  // packets inside, mean over the ends of the windows in [start, end)
  };

  // Runs windows of `window` ticks from time 0; one ends on `start` and one on `end`. Sources go on
  // after `end`, since later packets delay earlier ones, until every packet born before `end` has
  // been delivered or the time is `give_up`.
  // sink: takes all deliveries; the crew's others take theirs in copies of it, until the end.
  Account Run(VirtualSource& source, DelaySink& sink, Ticks window, Ticks start, Ticks end,
              Ticks give_up);

  uint64_t queued() const;
  uint64_t handled() const;
  // Per stage: mean of departure - arrival over all packets, in units.
  std::vector<double> StageDelays(Ticks unit) const;
  std::vector<uint64_t> LinkPackets() const;
  size_t bytes() const;

 private:
  class Handover;
  struct Worker;

  // Of all windows of a run, none longer than `window` (StageWindow).
  int BucketBits(Ticks window) const;

  const Network& network_;
  const Ticks unit_;
  const bool vectors_;
  size_t sink_bytes_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace bfly::dataplane
