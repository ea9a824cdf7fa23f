// SPDX-License-Identifier: Apache-2.0
// Which circuits stand at the inputs and outputs, and which of these circuits the links count.
#pragma once

#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/programs/given_paths.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Not thread-safe.
class CircuitBook {
 public:
  // Both must outlive the object, which begins with no circuit, whatever `routes` holds.
  CircuitBook(const Network& network, const RouteTable& routes);

  bool busy(Row input) const { return standing_[input] != 0; }
  // Returns the tag of the circuit at a busy input.
  Tag tag(Row input) const { return TagOf(standing_[input]); }
  uint32_t at_output(Row output) const { return at_output_[output]; }

  // Notes that the route table has a new circuit for an input, or no circuit any more. The links do
  // not count the change yet.
  void Note(Row input);
  // Notes that the route table has a new circuit for an input, or no circuit any more, and that the
  // links count the change.
  void Settle(Row input);

  // Takes back a program whose result was not reported to a caller. The program has released and
  // installed `done`, and the links count that. The route table gets the circuits that were noted
  // last, and Behind() returns what the links must be told.
  void TakeBack(const GivenCircuits& done, RouteTable& routes);

  // A program that was abandoned may have changed the circuit of an input. The route table gets the
  // circuit that was noted last.
  void Restore(Row input, RouteTable& routes);
  // Notes that the links count no circuit any more.
  void CountNone();

  // Returns what the links must be told to count the circuits that stand. Call CaughtUp when the
  // links have been told.
  GivenCircuits Behind();
  void CaughtUp();
  // The number of inputs that Behind() will look at. It is at most the network's rows, however many
  // circuits come and go between two calls.
  size_t to_look_at() const { return behind_.size(); }

 private:
  Tag TagOf(WireTag circuit) const { return FromWire(circuit, network_.tag_layout().bits()); }
  void Look(Row input);

  const Network& network_;
  const RouteTable& routes_;
  std::vector<WireTag> counted_;     // for each input: the circuit that its links count, or 0
  std::vector<WireTag> standing_;    // for each input: the circuit that was noted last, or 0
  std::vector<uint32_t> at_output_;  // the circuits of standing_ that end at each output
  std::vector<Row> behind_;      // the inputs whose counted_ and standing_ may differ, each once
  std::vector<bool> is_behind_;  // for each input: whether it is in behind_
};

}  // namespace bfly::dataplane
