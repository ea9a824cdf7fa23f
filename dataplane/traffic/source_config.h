// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/network.h"

namespace bfly::dataplane {

// Packets from built-in sources: synthetic descriptors that start at input rows.
struct SourceConfig {
  enum class Destination { kCircuit, kUniform, kRow };
  std::vector<Row> rows = {};     // input rows that send
  double packets_per_second = 0;  // per row; 0: as fast as the worker allows
  uint32_t bytes = 64;
  Destination destination = Destination::kCircuit;  // kCircuit: rows without a circuit send nothing
  Row row = 0;                                      // kRow
  uint64_t seed = 0;
  uint64_t packets = 0;  // per row, 0: until stopped
};

}  // namespace bfly::dataplane
