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

class Segment {
 public:
  // `hops` may be empty: such a segment only moves packets between a port queue and another worker.
  explicit Segment(std::vector<Stage*> hops) : hops_(std::move(hops)) {}

  void AddInlet(Inlet* inlet, bool trunk) { inlets_.push_back({inlet, trunk}); }
  void AddLane(Lane lane) { lanes_.push_back(std::move(lane)); }
  // Where packets that crossed the last hop go, if not all to lane 0: a packet at `row` goes to one
  // of the lanes choices[choice_of_row[row]].
  struct Exits {
    std::vector<uint16_t> choice_of_row;
    std::vector<std::vector<uint16_t>> choices;
  };
  void SetExits(Exits exits);

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
  Exits exits_;
  std::unique_ptr<Descriptor[]> batch_;  // with exits; otherwise the batch is built in lane 0
};

}  // namespace bfly::dataplane
