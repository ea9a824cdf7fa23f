// SPDX-License-Identifier: Apache-2.0
#include "control/agent/sources.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

constexpr uint32_t kMinBytes = 64;
constexpr size_t kMaxNameLength = 64;
constexpr uint32_t kHighestPriority = 7;

using Destination = dataplane::SourceConfig::Destination;

class SourceReader {
 public:
  SourceReader(const v1::TrafficSource& source, uint32_t rows, uint32_t max_bytes, std::string at,
               FieldErrors& errors)
      : source_(source), rows_(rows), max_bytes_(max_bytes), at_(std::move(at)), errors_(errors) {}

  dataplane::SourceConfig Read() {
    config_.id = source_.id();
    config_.packets_per_second = source_.packets_per_second();
    config_.bytes = source_.bytes() == 0 ? kMinBytes : source_.bytes();
    config_.row = source_.row();
    config_.seed = source_.seed();
    config_.packets = source_.packets();
    ReadName();
    if (source_.priority() > kHighestPriority) {
      errors_.Add(OutOfRange(Field("priority"), source_.priority(), 0, kHighestPriority));
    }
    config_.priority = static_cast<uint8_t>(source_.priority());
    if (source_.destination() == v1::TrafficSource::TRACE) {
      config_.destination = Destination::kTrace;
      ReadTrace();
      return std::move(config_);
    }
    ReadRows();
    ReadArrivals();
    CheckBytes("bytes", config_.bytes);
    ReadDestination();
    return std::move(config_);
  }

 private:
  std::string Field(const std::string& name) const { return absl::StrCat(at_, ".", name); }

  void CheckBytes(const std::string& field, uint32_t bytes) {
    if (bytes < kMinBytes || bytes > max_bytes_) {
      errors_.Add(OutOfRange(Field(field), bytes, kMinBytes, max_bytes_));
    }
  }

  void CheckRow(const std::string& field, uint32_t row) {
    if (row >= rows_) errors_.Add(OutOfRange(Field(field), row, 0, rows_ - 1));
  }

  void ReadName() {
    const std::string& name = source_.name();
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
      return std::isgraph(static_cast<unsigned char>(c));
    });
    if (!plain || name.size() > kMaxNameLength) {
      errors_.Add(Field("name"),
                  absl::StrCat("\"", name.substr(0, kMaxNameLength), "\" is not a name; use 1 to ",
                               kMaxNameLength, " visible ASCII characters"));
    }
  }

  void ReadRows() {
    if (source_.rows().empty()) {
      config_.rows.resize(rows_);
      std::iota(config_.rows.begin(), config_.rows.end(), 0);
    } else if (auto expanded = ExpandRanges(source_.rows(), rows_ - 1, "row"); expanded.ok()) {
      config_.rows = *std::move(expanded);
    } else {
      errors_.Add(Field("rows"), std::string(expanded.status().message()));
    }
  }

  void ReadArrivals() {
    const double rate = config_.packets_per_second;
    if (rate != 0 && !(rate >= dataplane::kLowestRate && rate <= dataplane::kHighestRate)) {
      errors_.Add(
          Field("packets_per_second"),
          absl::StrCat(rate, " is not a rate; use 0 (as fast as the worker allows) or ",
                       dataplane::kLowestRate, "..", dataplane::kHighestRate, " packets a second"));
      return;
    }
    switch (source_.process()) {
      case v1::TrafficSource::CONSTANT:
        return;
      case v1::TrafficSource::POISSON:
        config_.process = ArrivalProcess::kPoisson;
        break;
      case v1::TrafficSource::BERNOULLI:
        config_.process = ArrivalProcess::kBernoulli;
        break;
      case v1::TrafficSource::ON_OFF:
        config_.process = ArrivalProcess::kOnOff;
        break;
      case v1::TrafficSource::SLOTTED_BATCH:
        config_.process = ArrivalProcess::kSlottedBatch;
        break;
      default:
        errors_.Add(Field("process"),
                    absl::StrCat(static_cast<int>(source_.process()),
                                 " is unknown; use CONSTANT, POISSON, BERNOULLI, ON_OFF or "
                                 "SLOTTED_BATCH"));
        return;
    }
    config_.slot = source_.slot();
    config_.on = source_.on();
    config_.duty = source_.duty();
    const bool slotted = config_.process == ArrivalProcess::kBernoulli ||
                         config_.process == ArrivalProcess::kSlottedBatch;
    if (rate == 0) {
      errors_.Add(Field("packets_per_second"),
                  absl::StrCat("0 is not a rate for ", ArrivalProcessName(config_.process),
                               "; only constant can send as fast as the worker allows"));
    } else if (const absl::Status status = CheckArrivals({.process = config_.process,
                                                          .rate = rate,
                                                          .slot = config_.slot,
                                                          .on = config_.on,
                                                          .duty = config_.duty});
               !status.ok()) {
      errors_.Add(WithPrefix(status, at_));
    } else if (slotted && config_.slot < dataplane::kShortestTime) {
      errors_.Add(Field("slot"), absl::StrCat(config_.slot, " s is shorter than 1 ns"));
    } else if (slotted && config_.slot > dataplane::kLongestTime) {
      errors_.Add(Field("slot"),
                  absl::StrCat(config_.slot, " s is longer than ", dataplane::kLongestTime, " s"));
    } else if (config_.process == ArrivalProcess::kOnOff && config_.on < dataplane::kShortestTime) {
      errors_.Add(Field("on"), absl::StrCat(config_.on, " s is shorter than 1 ns"));
    } else if (const double off = dataplane::MeanOffTime(config_.on, config_.duty);
               config_.process == ArrivalProcess::kOnOff && off > dataplane::kLongestTime) {
      errors_.Add(Field("duty"),
                  absl::StrCat("off periods of ", off, " s in the mean are longer than ",
                               dataplane::kLongestTime, " s"));
    }
  }

  void ReadDestination() {
    switch (source_.destination()) {
      case v1::TrafficSource::DESTINATION_UNSPECIFIED:
      case v1::TrafficSource::CIRCUIT:
        config_.destination = Destination::kCircuit;
        break;
      case v1::TrafficSource::UNIFORM:
        config_.destination = Destination::kUniform;
        break;
      case v1::TrafficSource::ROW:
        config_.destination = Destination::kRow;
        CheckRow("row", source_.row());
        break;
      case v1::TrafficSource::PATTERN:
        config_.destination = Destination::kPattern;
        ReadPattern();
        break;
      default:
        errors_.Add(Field("destination"),
                    absl::StrCat(static_cast<int>(source_.destination()),
                                 " is unknown; use CIRCUIT, UNIFORM, ROW, PATTERN or TRACE"));
    }
  }

  void ReadPattern() {
    config_.pattern = {.name = source_.pattern(),
                       .p = source_.p(),
                       .hotspots = {source_.hotspots().begin(), source_.hotspots().end()},
                       .weights = {source_.weights().begin(), source_.weights().end()},
                       .permutation = {source_.permutation().begin(), source_.permutation().end()},
                       .seed = config_.seed};
    const auto pattern = TrafficPattern::Make(config_.pattern, rows_);
    if (!pattern.ok()) errors_.Add(WithPrefix(pattern.status(), at_));
  }

  void ReadTrace() {
    const v1::TrafficTrace& trace = source_.trace();
    const int packets = trace.nanoseconds_size();
    if (packets == 0) {
      errors_.Add(Field("trace"), "it has no packet");
      return;
    }
    if (trace.rows_size() != packets || trace.destinations_size() != packets ||
        trace.bytes_size() != packets) {
      errors_.Add(Field("trace"),
                  absl::StrCat("its columns hold ", packets, " times, ", trace.rows_size(),
                               " rows, ", trace.destinations_size(), " destinations and ",
                               trace.bytes_size(), " lengths; each packet needs one of each"));
      return;
    }
    auto read = std::make_shared<dataplane::Trace>();
    read->reserve(static_cast<size_t>(packets));
    for (int i = 0; i < packets; ++i) {
      const dataplane::TracePacket packet{trace.nanoseconds(i), trace.rows(i),
                                          trace.destinations(i), trace.bytes(i)};
      const bool in_order = i == 0 || packet.nanoseconds >= trace.nanoseconds(i - 1);
      const bool in_time = packet.nanoseconds <= dataplane::kLatestOfTrace;
      if (packet.row < rows_ && packet.destination < rows_ && packet.bytes >= kMinBytes &&
          packet.bytes <= max_bytes_ && in_order && in_time) {
        read->push_back(packet);
        continue;
      }
      // One error is enough to tell what is wrong with a million values.
      const std::string index = absl::StrCat("[", i, "]");
      CheckRow("trace.rows" + index, packet.row);
      CheckRow("trace.destinations" + index, packet.destination);
      CheckBytes("trace.bytes" + index, packet.bytes);
      if (!in_order) {
        errors_.Add(Field("trace.nanoseconds" + index),
                    absl::StrCat(packet.nanoseconds, " is before ", trace.nanoseconds(i - 1),
                                 ", the time of the packet before"));
      }
      if (!in_time) {
        errors_.Add(OutOfRange(Field("trace.nanoseconds" + index), packet.nanoseconds, 0,
                               dataplane::kLatestOfTrace));
      }
      return;
    }
    config_.trace = std::move(read);
  }

  const v1::TrafficSource& source_;
  const uint32_t rows_;
  const uint32_t max_bytes_;
  const std::string at_;
  FieldErrors& errors_;
  dataplane::SourceConfig config_;
};

}  // namespace

absl::StatusOr<std::vector<dataplane::SourceConfig>> ToSourceConfigs(
    const std::vector<v1::TrafficSource>& sources, uint32_t rows, uint32_t max_frame_bytes) {
  FieldErrors errors;
  std::vector<dataplane::SourceConfig> configs;
  for (size_t i = 0; i < sources.size(); ++i) {
    configs.push_back(
        SourceReader(sources[i], rows, max_frame_bytes, absl::StrCat("sources[", i, "]"), errors)
            .Read());
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  return configs;
}

uint64_t CountSourceRows(const std::vector<v1::TrafficSource>& sources, uint32_t rows) {
  uint64_t sum = 0;
  for (const v1::TrafficSource& source : sources) {
    if (source.destination() == v1::TrafficSource::TRACE) continue;
    if (source.rows().empty()) {
      sum += rows;
    } else if (const auto ranges = ParseRanges(source.rows());
               ranges.ok() && CheckRanges(*ranges, rows - 1, "row").ok()) {
      sum += CountOf(*ranges);
    }
  }
  return sum;
}

}  // namespace bfly::control
