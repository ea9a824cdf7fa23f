// SPDX-License-Identifier: Apache-2.0
// Faults that nobody names one by one: drawn at random, or chosen by an adversary. The same
// network and numbers give the same faults on every machine.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "topologies/fault_set.h"

namespace bfly {

struct RandomFaults {
  // Each link, and each switch, is down with this probability, independently of all others.
  double links = 0;
  double nodes = 0;
  // Inputs and outputs are drawn like switches. Otherwise none of them is down.
  bool ends = false;
  uint64_t seed = 0;
};

// Takes what is drawn down in `faults`. Probabilities are 0 to 1.
void AddRandomFaults(const RandomFaults& plan, FaultSet* faults);

// Takes `count` switches between inputs and outputs down in `faults`, drawn uniformly. The same
// seed takes down for a larger count what it does for a smaller one, and more. OutOfRange: the
// network has fewer such switches.
absl::Status AddFaultySwitches(uint32_t count, uint64_t seed, FaultSet* faults);

struct AdversarialFaults {
  uint32_t links = 0;
  uint32_t nodes = 0;
};

// The adversary takes what leads to output 0, then what leads to output 1, and so on: the switches
// before the outputs, or the links into them. It takes its switches first. Then it takes links that
// no fault blocks yet, so that none is spent in vain. Two outputs of a butterfly share two such
// switches, so an even number of switches cuts off as many outputs, n pairs each. A switch between
// the ends of B_n is on n paths, a link on n / 2, so no faults cost B_n more. A network with
// several paths for each pair has no more than this many switches before an output either.
//
// OutOfRange names "links" or "nodes" if the last stage has fewer of them.
absl::Status CheckAdversary(const AdversarialFaults& plan, const Network& network);
void AddAdversarialFaults(const AdversarialFaults& plan, FaultSet* faults);

}  // namespace bfly
