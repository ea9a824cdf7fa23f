// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "dataplane/traffic/source.h"

namespace bfly::dataplane {
namespace {

using Destination = SourceConfig::Destination;

// Smallest and largest Ethernet frame, without FCS.
constexpr uint32_t kMinBytes = 64;
constexpr uint32_t kMaxBytes = 9018;
// At 10^6 packets a second a row sends them in 12 days.
constexpr uint64_t kMostPacketsOfARow = uint64_t{1} << 40;

template <typename... Part>
absl::Status Wrong(const std::string& at, const Part&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(at, parts...));
}

absl::Status CheckBytes(const std::string& at, uint32_t bytes) {
  if (bytes >= kMinBytes && bytes <= kMaxBytes) return absl::OkStatus();
  return Wrong(at, "bytes: ", bytes, " is outside ", kMinBytes, "..", kMaxBytes);
}

absl::Status CheckTrace(const std::string& at, const SourceConfig& s, const Network& network) {
  if (s.trace == nullptr || s.trace->empty()) return Wrong(at, "trace: it has no packet");
  uint64_t before = 0;
  for (size_t i = 0; i < s.trace->size(); ++i) {
    const TracePacket& packet = (*s.trace)[i];
    const std::string here = absl::StrCat(at, "trace[", i, "].");
    const std::string row_range = absl::StrCat(" is outside 0..", network.rows() - 1);
    if (packet.row >= network.rows()) return Wrong(here, "row: ", packet.row, row_range);
    if (packet.destination >= network.rows()) {
      return Wrong(here, "destination: ", packet.destination, row_range);
    }
    if (absl::Status status = CheckBytes(here, packet.bytes); !status.ok()) return status;
    if (packet.nanoseconds < before) {
      return Wrong(here, "time: ", packet.nanoseconds, " ns is before the time of the last packet");
    }
    if (packet.nanoseconds > kLatestOfTrace) {
      return Wrong(here, "time: ", packet.nanoseconds, " ns is after ", kLatestOfTrace, " ns");
    }
    before = packet.nanoseconds;
  }
  return absl::OkStatus();
}

absl::Status CheckArrivalsOf(const std::string& at, const SourceConfig& s) {
  if (s.packets_per_second != 0 &&
      !(s.packets_per_second >= kLowestRate && s.packets_per_second <= kHighestRate)) {
    return Wrong(at, "packets_per_second: ", s.packets_per_second, " is outside ", kLowestRate,
                 "..", kHighestRate, "; use 0 for as fast as possible");
  }
  if (s.process == ArrivalProcess::kConstant) return absl::OkStatus();
  const char* const name = ArrivalProcessName(s.process);
  if (s.packets_per_second == 0) {
    return Wrong(at, "packets_per_second: 0 is not a rate for ", name,
                 "; only constant can send as fast as possible");
  }
  const absl::Status status = CheckArrivals({.process = s.process,
                                             .rate = s.packets_per_second,
                                             .slot = s.slot,
                                             .on = s.on,
                                             .duty = s.duty});
  if (!status.ok()) return Wrong(at, status.message());
  const bool slotted =
      s.process == ArrivalProcess::kBernoulli || s.process == ArrivalProcess::kSlottedBatch;
  if (slotted && s.slot < kShortestTime) {
    return Wrong(at, "slot: ", s.slot, " s is shorter than 1 ns");
  }
  if (slotted && s.slot > kLongestTime) {
    return Wrong(at, "slot: ", s.slot, " s is longer than ", kLongestTime, " s");
  }
  if (s.process == ArrivalProcess::kOnOff && s.on < kShortestTime) {
    return Wrong(at, "on: ", s.on, " s is shorter than 1 ns");
  }
  if (s.process == ArrivalProcess::kOnOff && MeanOffTime(s.on, s.duty) > kLongestTime) {
    return Wrong(at, "duty: off periods of ", MeanOffTime(s.on, s.duty),
                 " s in the mean are longer than ", kLongestTime, " s");
  }
  return absl::OkStatus();
}

absl::Status CheckSource(const std::string& at, const SourceConfig& s, const Network& network) {
  if (s.priority > 7) return Wrong(at, "priority: ", s.priority, " is outside 0..7");
  if (s.destination == Destination::kTrace) return CheckTrace(at, s, network);
  if (s.packets > kMostPacketsOfARow) {
    return Wrong(at, "packets: ", s.packets, " is outside 0..", kMostPacketsOfARow);
  }
  const std::string row_range = absl::StrCat(" is outside 0..", network.rows() - 1);
  if (s.rows.empty()) return Wrong(at, "rows: empty; name the rows that send");
  for (size_t r = 0; r < s.rows.size(); ++r) {
    if (s.rows[r] >= network.rows()) return Wrong(at, "rows[", r, "]: ", s.rows[r], row_range);
  }
  if (s.destination == Destination::kRow && s.row >= network.rows()) {
    return Wrong(at, "row: ", s.row, row_range);
  }
  if (absl::Status status = CheckBytes(at, s.bytes); !status.ok()) return status;
  if (absl::Status status = CheckArrivalsOf(at, s); !status.ok()) return status;
  if (s.destination == Destination::kPattern) {
    const auto pattern = TrafficPattern::Make(s.pattern, network.rows());
    if (!pattern.ok()) return Wrong(at, pattern.status().message());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSources(const std::vector<SourceConfig>& sources, const Network& network,
                          int first_stage) {
  for (size_t i = 0; i < sources.size(); ++i) {
    const absl::Status status = CheckSource(absl::StrCat("sources[", i, "]."), sources[i], network);
    if (!status.ok()) return status;
  }
  if (sources.empty() || first_stage == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "sources start packets at stage 0, which another data plane runs");
}

}  // namespace bfly::dataplane
