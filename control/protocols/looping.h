// SPDX-License-Identifier: Apache-2.0
// The settings of a Benes network for a permutation, by the looping algorithm (Opferman and
// Tsao-Wu 1971; Waksman 1968; THEORY.md 2.8), on one thread or several.
//
// A block of 2m rows has 2m messages. The messages of rows r and r + m share a switch on the left,
// the messages for outputs o and o + m share one on the right, and the two messages of a switch
// take different halves of the block. Messages that constrain each other form loops. In each loop
// the message of the smallest row goes to the first half, which settles the other messages of the
// loop. So the paths depend on the permutation alone.
//
// Take this step: from a message to the one that shares its output switch, and on to the one that
// shares that message's input switch. Repeated, it visits every second message of a loop, and these
// all take the same half. So a loop is two orbits of the step, and the orbit with the smaller
// smallest row takes the first half. While there are fewer blocks than threads, all threads
// together find the smallest rows of all orbits of a block (orbits.h): that is the parallel
// algorithm of Nassimi and Sahni (IEEE Trans. Comp. C-31, 1982), with O(log n) rounds a level. Its
// O(log^2 n) rounds for the whole network need a processor a row. With few processors, the blocks
// of later levels keep all threads busy without rounds: one thread walks the loops of a block one
// after the other.
#pragma once

#include <vector>

#include "topologies/crew.h"
#include "topologies/network.h"
#include "topologies/permutation.h"

namespace bfly::control {

// By input: the row of its message at the middle level. No two messages share a node. The result
// does not depend on the crew. The number of rows of `permutation` is a power of two, at least 2.
std::vector<Row> MiddleRows(const Permutation& permutation, Crew& crew);

}  // namespace bfly::control
