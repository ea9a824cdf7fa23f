// SPDX-License-Identifier: Apache-2.0
// The settings of a Benes network for a permutation, by the looping algorithm (Opferman and
// Tsao-Wu 1971; Waksman 1968; THEORY.md 2.8), on one thread or several.
//
// A block of 2m rows has 2m messages. Those of rows r and r + m share a switch on the left, those
// for outputs o and o + m one on the right, and the two of a switch take different halves of the
// block. Messages that constrain each other form loops. In each loop the message of the smallest
// row goes to the first half, which settles all others: the paths depend on the permutation alone.
//
// Step from a message to the one that shares its output switch, and from there to the one that
// shares that one's input switch: this visits every second message of a loop, all on one side. So a
// loop is two orbits of this step, and the one with the smaller smallest row takes the first half.
// While there are fewer blocks than threads, all threads find the smallest rows of all orbits of a
// block together (orbits.h): that is the parallel algorithm of Nassimi and Sahni (IEEE Trans. Comp.
// C-31, 1982), O(log n) rounds a level. Its O(log^2 n) rounds for the whole network need a
// processor a row; with few, the blocks of the levels below keep all of them busy with no round at
// all: one thread walks the loops of a block one after the other.
#pragma once

#include <vector>

#include "topologies/crew.h"
#include "topologies/network.h"
#include "topologies/permutation.h"

namespace bfly::control {

// By input: the row at the middle level of its message. No two messages share a node. The same for
// every crew. `permutation` is one of a power of two rows, at least 2.
std::vector<Row> MiddleRows(const Permutation& permutation, Crew& crew);

}  // namespace bfly::control
