// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/memory_need.h"

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "dataplane/core/route_table.h"
#include "dataplane/stages/fused_stages.h"
#include "dataplane/stages/stage.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

std::string Gibibytes(uint64_t bytes) {
  return absl::StrFormat("%.1f GiB", static_cast<double>(bytes) / (1 << 30));
}

}  // namespace

uint64_t MemoryNeed(const Network& network, int first_stage, int last_stage) {
  const auto stages = static_cast<uint64_t>(last_stage - first_stage + 1);
  const uint64_t links = stages * network.rows() * static_cast<uint64_t>(network.ports());
  return links * (sizeof(LinkHot) + sizeof(LinkCold)) +
         network.rows() * RouteTable::BytesPerRow(network) +
         stages * FusedStages::BytesPerStage(network);
}

absl::Status CheckMemoryNeed(const Network& network, uint64_t need, uint64_t available,
                             const char* for_what) {
  if (need <= available) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("network.rows: ", network.rows(), " rows need ", Gibibytes(need), " for ",
                   for_what, ", and this machine has ", Gibibytes(available),
                   " left; use fewer rows, or place stages on other machines"));
}

uint64_t AvailableMemory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    uint64_t kilobytes = 0;
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes << 10;
  }
  return UINT64_MAX;
}

}  // namespace bfly::dataplane
