// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/memory_need.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "dataplane/core/descriptor.h"
#include "dataplane/core/route_table.h"
#include "dataplane/fabric/assembly.h"
#include "dataplane/links/shape_table.h"
#include "dataplane/stages/fused_stages.h"
#include "dataplane/stages/stage.h"
#include "dataplane/stages/timed_links.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

// A segment has a batch, two more for links that take time, and the links of a batch. A lane has a
// batch with its links, twice, and leads to a ring if another worker takes the packets.
constexpr uint64_t kSegmentBytes = kBatch * (3 * sizeof(Descriptor) + sizeof(uint32_t));
constexpr uint64_t kLaneBytes =
    kBatch * (sizeof(Descriptor) + 2 * sizeof(uint32_t)) + kRingSlots * sizeof(Descriptor);
// With several lanes a segment has the group and the lane of every row of the network.
constexpr uint64_t kBytesPerRow = 2 * sizeof(uint16_t);

// How many segments follow a segment, or 1 behind the last hop of the plan.
size_t WaysOn(const Network& network, const FabricPlan& plan, const SegmentPlan& segment) {
  if (segment.end() == plan.segments.back().end()) return 1;
  const int stage = network.stage_of_hop(segment.end() - 1);
  std::set<int> next;
  for (Row row = segment.rows.first; row <= segment.rows.last; ++row) {
    for (int port = 0; port < network.ports(); ++port) {
      next.insert(plan.segment_from(segment.end(), network.next_row(stage, row, port)));
    }
  }
  return next.size();
}

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

uint64_t SegmentMemoryNeed(const Network& network, const FabricPlan& plan) {
  uint64_t bytes = 0;
  for (const SegmentPlan& segment : plan.segments) {
    const size_t lanes = WaysOn(network, plan, segment);
    bytes += kSegmentBytes + lanes * kLaneBytes;
    if (lanes > 1) bytes += network.rows() * kBytesPerRow;
  }
  return bytes;
}

uint64_t TimedMemoryNeed(const Network& network, const LinkPlan& links, int first_stage,
                         int last_stage) {
  uint64_t bytes = 0;
  for (int s = first_stage; s <= last_stage; ++s) {
    const ShapeTable table(links, s, network.rows(), network.ports(), 1e9);
    if (!table.keeps_packets()) continue;
    bytes += uint64_t{network.rows()} * static_cast<uint64_t>(network.ports()) * kTimedBytesPerLink;
  }
  return bytes;
}

absl::Status CheckMemoryNeed(const Network& network, uint64_t need, uint64_t available,
                             const char* for_what, const char* instead) {
  if (need <= available) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "network.rows: ", network.rows(), " rows need ", Gibibytes(need), " for ", for_what,
      ", and this machine or cgroup has ", Gibibytes(available), " left; use ", instead));
}

uint64_t LeftInCgroup(const std::string& directory) {
  uint64_t limit = 0, used = 0, droppable = 0;
  // Without a limit the file says "max".
  if (!(std::ifstream(directory + "/memory.max") >> limit)) return UINT64_MAX;
  std::ifstream(directory + "/memory.current") >> used;
  std::ifstream statistics(directory + "/memory.stat");
  std::string name;
  for (uint64_t bytes = 0; statistics >> name >> bytes;) {
    if (name == "inactive_file") droppable = bytes;
  }
  used -= std::min(used, droppable);
  return limit - std::min(limit, used);
}

uint64_t AvailableMemory() {
  uint64_t available = UINT64_MAX;
  std::string word;
  for (std::ifstream file("/proc/meminfo"); file >> word;) {
    uint64_t kilobytes = 0;
    if (word == "MemAvailable:" && file >> kilobytes) available = kilobytes << 10;
  }
  constexpr char kVersion2[] = "0::";
  for (std::ifstream file("/proc/self/cgroup"); std::getline(file, word);) {
    if (word.rfind(kVersion2, 0) != 0) continue;
    for (std::string group = word.substr(sizeof(kVersion2) - 1);;) {
      available = std::min(available, LeftInCgroup("/sys/fs/cgroup" + group));
      if (group.empty()) break;
      group.resize(std::min(group.size() - 1, group.rfind('/')));
    }
  }
  return available;
}

}  // namespace bfly::dataplane
