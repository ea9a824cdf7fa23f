// SPDX-License-Identifier: Apache-2.0
// Any text is refused with diagnostics that name it, or is a topology every data plane of which can
// be told what to be.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "control/topology_file/describe.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/to_fabric_config.h"
#include "control/topology_file/validate.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace bfly::control;
  const absl::string_view text(reinterpret_cast<const char*>(bytes), size);
  TopologyReading reading = ParseTopology(text, "fuzz.yaml");
  for (const Diagnostic& diagnostic : reading.diagnostics) {
    const std::string line = ToString(diagnostic);
    Require(line.find('\n') == std::string::npos && !diagnostic.message.empty());
  }
  if (reading.network_ok()) {
    const auto network = NetworkOf(reading.topology.network());
    Require(network.ok());
    if (network->rows() <= 64) DescribeNetwork(*network, reading.topology.name(), true);
  }
  if (!reading.ok()) {
    Require(!ToStatus(reading.diagnostics).ok());
    return 0;
  }
  // A file without a placement gets one when it is loaded, and a message must have one.
  if (reading.topology.placement().empty()) return 0;
  // What was read is complete and sound as a message too.
  const std::string complete = reading.topology.SerializeAsString();
  Require(CheckTopology(&reading.topology).empty());
  Require(reading.topology.SerializeAsString() == complete);
  const auto network = NetworkOf(reading.topology.network());
  const uint64_t rows = network->rows();
  uint64_t nodes = 0;
  for (const auto& plane : reading.topology.data_planes()) {
    const auto config = ToFabricConfig(reading.topology, plane.name());
    Require(config.ok());
    for (const auto& run : config->placement) {
      const uint64_t stages = static_cast<uint64_t>(run.last_stage - run.first_stage) + 1;
      nodes += stages * (std::min<uint64_t>(run.rows.last, rows - 1) - run.rows.first + 1);
    }
  }
  Require(nodes == rows * static_cast<uint64_t>(network->stages()));
  return 0;
}
