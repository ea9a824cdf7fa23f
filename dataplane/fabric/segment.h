// SPDX-License-Identifier: Apache-2.0
// A segment: consecutive hops that one worker carries a batch over before it takes the next.
#pragma once

#include <memory>
#include <vector>

#include "dataplane/fabric/account.h"
#include "dataplane/fabric/inlet.h"
#include "dataplane/fabric/lane.h"
#include "dataplane/fabric/stage.h"

namespace bfly::dataplane {

// Which lanes lead to a row's host port: `lanes` of them from number `first` on.
struct RowExit {
  uint16_t first = 0;
  uint16_t lanes = 1;
};

class Segment {
 public:
  // `hops` may be empty: such a segment only moves packets between a port queue and another worker.
  explicit Segment(std::vector<Stage*> hops) : hops_(std::move(hops)) {}

  void AddInlet(Inlet* inlet, bool trunk) { inlets_.push_back({inlet, trunk}); }
  void AddLane(Lane lane) { lanes_.push_back(std::move(lane)); }
  // Only the segment of the last hop, and only if some port queue is another worker's: packets go
  // to the lanes of the row they arrived at. Without it there is one lane.
  void SetExits(std::vector<RowExit> exits);

  // The three steps of a pass, each for all segments of a worker before the next step.
  void Run(Account& account);
  void Settle(Account& account) {
    for (Lane& lane : lanes_) lane.Settle(account);
  }
  void HandOver() {
    for (Lane& lane : lanes_) lane.HandOver();
  }
  uint64_t held() const;
  uint64_t Discard();

 private:
  struct Entrance {
    Inlet* inlet;
    bool trunk;
  };
  bool blocked() const;
  int Gather(Descriptor* batch, Account& account);
  void Scatter(const Descriptor* batch, int count);

  std::vector<Entrance> inlets_;
  size_t next_inlet_ = 0;  // polled first, in turn, so that none starves
  std::vector<Stage*> hops_;
  std::vector<Lane> lanes_;
  std::vector<RowExit> exits_;           // by row, or empty
  std::unique_ptr<Descriptor[]> batch_;  // with exits; otherwise the batch is built in the one lane
};

}  // namespace bfly::dataplane
