// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/traffic/trace.h"
#include "topologies/arrivals.h"
#include "topologies/network.h"
#include "topologies/traffic_pattern.h"

namespace bfly::dataplane {

// What a source may ask for. Rates are packets a second of a row: beyond these a product of the
// rate, the rows and the time leaves 64 bits. With shorter slots and on periods a worker would
// count them instead of packets.
inline constexpr double kLowestRate = 1e-6, kHighestRate = 1e12;
inline constexpr double kShortestTime = 1e-9;  // of a slot or a mean on period, seconds
inline constexpr double kLongestTime = 1e6;    // of a slot or a mean off period, seconds: 11 days
inline constexpr uint64_t kLatestOfTrace = 1'000'000'000'000'000'000;  // nanoseconds: 31 years

// A built-in source: synthetic descriptors that start at input rows.
struct SourceConfig {
  enum class Destination { kCircuit, kUniform, kRow, kPattern, kTrace };
  std::vector<Row> rows = {};     // input rows that send; empty for kTrace
  double packets_per_second = 0;  // per row, see above; 0: as fast as the worker allows
  uint32_t bytes = 64;
  Destination destination = Destination::kCircuit;  // kCircuit: rows without a circuit send nothing
  Row row = 0;                                      // kRow
  uint8_t priority = 0;                             // 0..7, see Descriptor
  uint64_t seed = 0;
  uint64_t packets = 0;  // per row, 0: until stopped
  // The process that says when packets are born, and its parameters besides the rate.
  ArrivalProcess process = ArrivalProcess::kConstant;
  double slot = 0;                  // kBernoulli, kSlottedBatch: seconds
  double on = 0;                    // kOnOff: the mean length of an on period, seconds
  double duty = 0;                  // kOnOff: the part of the time that is on, above 0, at most 1
  TrafficPatternSpec pattern = {};  // kPattern; its seed is `seed`
  std::shared_ptr<const Trace> trace = nullptr;  // kTrace: sent once
  uint64_t id = 0;  // a running source with this id goes on undisturbed; 0: never
};

// InvalidArgument names the field: "sources[0].rows[3]: 20 is outside 0..15". FailedPrecondition:
// there are sources, and the first stage that runs here, `first_stage`, is not stage 0.
absl::Status CheckSources(const std::vector<SourceConfig>& sources, const Network& network,
                          int first_stage);

// The mean length of the off periods of kOnOff, seconds.
inline double MeanOffTime(double on, double duty) { return on * (1 - duty) / duty; }

// What a source has done so far.
struct SourceCounters {
  uint64_t id = 0;
  uint64_t packets = 0;     // packets injected
  uint64_t bytes = 0;       // bytes of those packets
  uint64_t no_circuit = 0;  // not injected: no circuit, and the fabric sends nothing without one
  double seconds = 0;       // from its start until now, or until it had finished
  bool finished = false;    // all of its packets were sent
};

}  // namespace bfly::dataplane
