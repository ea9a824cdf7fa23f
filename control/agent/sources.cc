// SPDX-License-Identifier: Apache-2.0
#include "control/agent/sources.h"

#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

constexpr uint32_t kMinBytes = 64;

using Destination = dataplane::SourceConfig::Destination;

dataplane::SourceConfig ToSourceConfig(const v1::TrafficSource& source, uint32_t rows,
                                       uint32_t max_bytes, const std::string& at,
                                       FieldErrors& errors) {
  dataplane::SourceConfig config;
  config.packets_per_second = source.packets_per_second();
  config.bytes = source.bytes() == 0 ? kMinBytes : source.bytes();
  config.row = source.row();
  config.seed = source.seed();
  config.packets = source.packets();
  if (source.rows().empty()) {
    config.rows.resize(rows);
    std::iota(config.rows.begin(), config.rows.end(), 0);
  } else if (auto expanded = ExpandRanges(source.rows(), rows - 1, "row"); expanded.ok()) {
    config.rows = *std::move(expanded);
  } else {
    errors.Add(at + ".rows", std::string(expanded.status().message()));
  }
  if (!std::isfinite(config.packets_per_second) || config.packets_per_second < 0) {
    errors.Add(at + ".packets_per_second",
               absl::StrCat(config.packets_per_second,
                            " is not a rate; use 0 (as fast as the "
                            "worker allows) or a number of packets per second"));
  }
  if (config.bytes < kMinBytes || config.bytes > max_bytes) {
    errors.Add(OutOfRange(at + ".bytes", config.bytes, kMinBytes, max_bytes));
  }
  switch (source.destination()) {
    case v1::TrafficSource::DESTINATION_UNSPECIFIED:
    case v1::TrafficSource::CIRCUIT:
      config.destination = Destination::kCircuit;
      break;
    case v1::TrafficSource::UNIFORM:
      config.destination = Destination::kUniform;
      break;
    case v1::TrafficSource::ROW:
      config.destination = Destination::kRow;
      if (source.row() >= rows) errors.Add(OutOfRange(at + ".row", source.row(), 0, rows - 1));
      break;
    default:
      errors.Add(at + ".destination", absl::StrCat(static_cast<int>(source.destination()),
                                                   " is unknown; use CIRCUIT, UNIFORM or ROW"));
  }
  return config;
}

}  // namespace

absl::StatusOr<std::vector<dataplane::SourceConfig>> ToSourceConfigs(
    const std::vector<v1::TrafficSource>& sources, uint32_t rows, uint32_t max_frame_bytes) {
  FieldErrors errors;
  std::vector<dataplane::SourceConfig> configs;
  for (size_t i = 0; i < sources.size(); ++i) {
    configs.push_back(ToSourceConfig(sources[i], rows, max_frame_bytes,
                                     absl::StrCat("sources[", i, "]"), errors));
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  return configs;
}

}  // namespace bfly::control
