// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/traffic/trace.h"
#include "topologies/arrivals.h"
#include "topologies/network.h"
#include "topologies/traffic_pattern.h"

namespace bfly::dataplane {

// Packets from built-in sources: synthetic descriptors that start at input rows.
struct SourceConfig {
  enum class Destination { kCircuit, kUniform, kRow, kPattern, kTrace };
  std::vector<Row> rows = {};     // input rows that send; none for kTrace
  double packets_per_second = 0;  // per row; 0: as fast as the worker allows
  uint32_t bytes = 64;
  Destination destination = Destination::kCircuit;  // kCircuit: rows without a circuit send nothing
  Row row = 0;                                      // kRow
  uint8_t priority = 0;                             // 0..7, see Descriptor
  uint64_t seed = 0;
  uint64_t packets = 0;  // per row, 0: until stopped
  // When packets are born; what its process needs besides the rate, in seconds.
  ArrivalProcess process = ArrivalProcess::kConstant;
  double slot = 0;
  double on = 0;
  double duty = 0;
  TrafficPatternSpec pattern = {};               // kPattern; its seed is `seed`
  std::shared_ptr<const Trace> trace = nullptr;  // kTrace: sends what it says, once
  uint64_t id = 0;  // a source that runs under this id already goes on undisturbed; 0: never
};

// What a source did so far.
struct SourceCounters {
  uint64_t id = 0;
  uint64_t packets = 0;     // started on their way
  uint64_t bytes = 0;       // of those
  uint64_t no_circuit = 0;  // dropped before: no circuit, and the fabric sends nothing without one
  double seconds = 0;       // since it was started
  bool finished = false;    // everything it had to send is sent
};

}  // namespace bfly::dataplane
