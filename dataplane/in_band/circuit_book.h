// SPDX-License-Identifier: Apache-2.0
// Which circuits stand at the inputs and outputs, and which of them the links count.
#pragma once

#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/programs/given_paths.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Not thread-safe.
class CircuitBook {
 public:
  // Both outlive the object. Begins with no circuit, whatever `routes` holds.
  CircuitBook(const Network& network, const RouteTable& routes);

  bool busy(Row input) const { return standing_[input] != 0; }
  // Of the circuit at a busy input.
  Tag tag(Row input) const { return TagOf(standing_[input]); }
  uint32_t at_output(Row output) const { return at_output_[output]; }

  // The circuit at an input is what the route table says now: links do not count that yet.
  void Note(Row input);
  // The circuit at an input is what the route table says now, and the links count it.
  void Settle(Row input);

  // A program of which nobody was told has released and installed these, and the links count it.
  // The route table says again what was noted last, and Behind() has what the links must be told.
  void TakeBack(const GivenCircuits& done, RouteTable& routes);

  // A program that was abandoned may have changed the circuit of an input: the route table says
  // again what was noted last.
  void Restore(Row input, RouteTable& routes);
  // The links count no circuit any more.
  void CountNone();

  // What the links must be told to count what stands. They have been told once CaughtUp is called.
  GivenCircuits Behind();
  void CaughtUp();
  // Inputs that Behind() will look at; never more than the network has rows, however many circuits
  // come and go between two calls.
  size_t to_look_at() const { return behind_.size(); }

 private:
  Tag TagOf(WireTag circuit) const { return FromWire(circuit, network_.tag_layout().bits()); }
  void Look(Row input);

  const Network& network_;
  const RouteTable& routes_;
  std::vector<WireTag> counted_;     // by input: the circuit that its links count, 0: none
  std::vector<WireTag> standing_;    // by input: the circuit as last noted
  std::vector<uint32_t> at_output_;  // circuits of standing_ that end there
  std::vector<Row> behind_;          // inputs where the first two may differ, each once
  std::vector<bool> is_behind_;      // by input: whether it is in behind_
};

}  // namespace bfly::dataplane
