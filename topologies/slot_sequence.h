// SPDX-License-Identifier: Apache-2.0
// Sequences of permutations in which every pair of rows meets once: the slots of circuits on a
// clock (docs/schedules.md).
#pragma once

#include <cstdint>

#include "topologies/network.h"
#include "topologies/permutation.h"

namespace bfly {

// Slot k of a rotor, 0 <= k < rows - 1: row i has the output i + k + 1 modulo the rows.
inline Permutation RotorSlot(uint32_t rows, uint32_t k) {
  Permutation slot(rows);
  for (Row row = 0; row < rows; ++row) slot[row] = (row + k + 1) % rows;
  return slot;
}

// Slot k of a round robin, 0 <= k < rows - 1: rows i and i xor (k + 1) have each other as output.
// `rows` is a power of two.
inline Permutation RoundRobinSlot(uint32_t rows, uint32_t k) {
  Permutation slot(rows);
  for (Row row = 0; row < rows; ++row) slot[row] = row ^ (k + 1);
  return slot;
}

}  // namespace bfly
