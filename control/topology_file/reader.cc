// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/reader.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/topology_file/message_reader.h"
#include "control/topology_file/validate.h"

namespace bfly::control {

bool TopologyReading::network_ok() const {
  return topology.has_network() &&
         std::none_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& diagnostic) {
           return diagnostic.field.empty() || diagnostic.field == "network" ||
                  absl::StartsWith(diagnostic.field, "network.");
         });
}

TopologyReading ParseTopology(absl::string_view text, const std::string& file_name) {
  TopologyReading reading;
  MessageReader reader(file_name, &reading.diagnostics);
  if (text.size() > kMaxTopologyFileBytes) {
    reader.Complain({}, "", "",
                    absl::StrCat("is longer than a topology file may be (allowed: ",
                                 kMaxTopologyFileBytes, " bytes)"));
    return reading;
  }
  if (!reader.Read(text, "a topology file", "name and network", &reading.topology)) {
    return reading;
  }
  CompleteTopology(&reading.topology);
  for (const Violation& violation : ValidateTopology(reading.topology)) {
    reader.Complain(reader.PlaceOf(violation.field), violation.field, violation.value,
                    violation.message);
  }
  reader.Sort();
  return reading;
}

absl::StatusOr<v1::Topology> ReadTopology(absl::string_view text, const std::string& file_name) {
  TopologyReading reading = ParseTopology(text, file_name);
  if (!reading.ok()) return ToStatus(reading.diagnostics);
  return std::move(reading.topology);
}

std::vector<Diagnostic> PlaceErrors(absl::string_view text, const std::string& file_name,
                                    const std::vector<Violation>& errors) {
  std::vector<Diagnostic> diagnostics;
  MessageReader reader(file_name, &diagnostics);
  v1::Topology topology;
  reader.Read(text, "a topology file", "name and network", &topology);
  diagnostics.clear();  // the text was read without errors before
  for (const Violation& error : errors) {
    reader.Complain(reader.PlaceOf(error.field), error.field, error.value, error.message);
  }
  reader.Sort();
  return diagnostics;
}

absl::StatusOr<v1::Topology> ReadTopologyFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTopologyText(path);
  if (!text.ok()) return text.status();
  return ReadTopology(*text, path == "-" ? "standard input" : path);
}

}  // namespace bfly::control
