// SPDX-License-Identifier: Apache-2.0
#include "control/cli/text.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/json/message_json.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

absl::Status Put(const std::string& text) {
  puts(text.c_str());
  return FlushOutput();
}

// "1 frame 3 %, 2-3 frames 12 %, 64 frames 85 %"; sizes that no poll brought are left out.
std::string BurstSizes(const v1::WorkerCost& cost) {
  const uint64_t polls = cost.polls() - cost.empty_polls();
  std::string text;
  for (int i = 0; i < cost.bursts_size(); ++i) {
    if (cost.bursts(i) == 0) continue;
    const bool is_last = i + 1 == cost.bursts_size();  // a full burst
    absl::StrAppend(&text, text.empty() ? "" : ", ", uint64_t{1} << i);
    if (i > 0 && !is_last) absl::StrAppend(&text, "-", (uint64_t{2} << i) - 1);
    absl::StrAppendFormat(&text, "%s %.0f %%", i == 0 ? " frame" : " frames",
                          100.0 * static_cast<double>(cost.bursts(i)) / static_cast<double>(polls));
  }
  return text;
}

}  // namespace

bool Balances(const v1::Conservation& account) {
  return account.injected() == account.delivered() + account.dropped() + account.in_flight();
}

std::string ConservationLine(const v1::Conservation& account) {
  return absl::StrCat("conservation: injected ", account.injected(), " = delivered ",
                      account.delivered(), " + dropped ", account.dropped(), " + in flight ",
                      account.in_flight(), Balances(account) ? "" : "  DOES NOT BALANCE");
}

uint64_t Missed(const v1::Counters& counters) {
  uint64_t missed = 0;
  for (const v1::PortCounters& port : counters.ports()) missed += port.rx_missed();
  for (const v1::PortCounters& ports : counters.removed_ports()) missed += ports.rx_missed();
  return missed;
}

std::string MissedLine(const v1::Counters& counters) {
  std::string ports;
  const auto add = [&ports](const std::string& name, uint64_t missed) {
    if (missed > 0) absl::StrAppend(&ports, ports.empty() ? "" : ", ", name, " ", missed);
  };
  for (const v1::PortCounters& port : counters.ports()) add(port.name(), port.rx_missed());
  for (const v1::PortCounters& removed : counters.removed_ports())
    add(absl::StrCat("removed ports of ", removed.data_plane()), removed.rx_missed());
  return absl::StrCat("ports missed ", Missed(counters), " frames before the fabric saw them",
                      ports.empty() ? "" : ": ", ports);
}

std::string LatenessLines(const google::protobuf::RepeatedPtrField<v1::WorkerStatus>& workers) {
  std::string lines;
  for (const v1::WorkerStatus& worker : workers) {
    const v1::Lateness& late = worker.lateness();
    if (late.packets() == 0) continue;
    absl::StrAppend(&lines,
                    absl::StrFormat("worker on lcore %u fell behind by %.1f us in the mean, "
                                    "%.1f us at p99, %.1f us at most (%s packets)\n",
                                    worker.lcore(), late.mean_us(), late.p99_us(), late.max_us(),
                                    Count(late.packets())));
  }
  return lines;
}

std::string PortLine(const v1::PortStatus& port) {
  if (port.queue_pairs() == 1 && port.steering() == v1::PortStatus::STEERING_UNSPECIFIED) return "";
  const uint32_t rows = port.rows_handed_over();
  const std::string to_workers =
      rows == 0 ? "each frame to its worker"
                : absl::StrCat("frames to their workers; workers hand over those of ", rows,
                               rows == 1 ? " row" : " rows");
  std::vector<uint32_t> lcores(port.lcores().begin(), port.lcores().end());
  std::sort(lcores.begin(), lcores.end());
  const std::string line =
      absl::StrCat(port.name(), ": ", port.queue_pairs(),
                   port.queue_pairs() == 1 ? " queue pair" : " queue pairs",
                   lcores.size() == 1 ? ", lcore " : ", lcores ", FormatRanges(lcores));
  switch (port.steering()) {
    case v1::PortStatus::FLOW_RULES:
      return line + "; flow rules of the device bring " + to_workers;
    case v1::PortStatus::RSS:
      return line + "; the device spreads flows (RSS), workers hand frames over";
    case v1::PortStatus::SOFTWARE:
      return line + "; workers hand frames over";
    case v1::PortStatus::SENDER:
      return line + "; the sending end brings " + to_workers;
    default:
      return line;
  }
}

std::string PlaneProblem(const v1::DataPlaneStatus& plane, bool loaded) {
  if (plane.state() == v1::DataPlaneStatus::UNREACHABLE) {
    return absl::StrCat("data plane ", plane.name(), " is unreachable");
  }
  if (loaded && plane.state() != v1::DataPlaneStatus::RUNNING) {
    return absl::StrCat("data plane ", plane.name(), " does not run the fabric");
  }
  if (!loaded || !plane.out_of_step()) return "";
  return absl::StrCat("data plane ", plane.name(), " does not hold what is loaded",
                      plane.problem().empty() ? "" : ": ", plane.problem());
}

std::string CostLines(const v1::WorkerCost& cost) {
  if (cost.frames() == 0) return "";
  std::string lines = absl::StrFormat(
      "      %.1f cycles a frame, %.1f a hop (%.2f GHz); %.0f %% of %s polls empty; bursts: %s\n",
      cost.cycles_per_frame(), cost.cycles_per_hop(), 1e-9 * static_cast<double>(cost.tsc_hz()),
      100.0 * static_cast<double>(cost.empty_polls()) / static_cast<double>(cost.polls()),
      Count(static_cast<double>(cost.polls())), BurstSizes(cost));
  for (const v1::StageCost& stage : cost.stages()) {
    const uint32_t last = stage.first_stage() + stage.stages() - 1;
    absl::StrAppend(&lines, "      ",
                    stage.stages() == 1
                        ? absl::StrCat("stage ", last)
                        : absl::StrCat("stages ", stage.first_stage(), "-", last, " in one step"),
                    absl::StrFormat(": %.1f cycles a hop\n", stage.cycles_per_hop()));
  }
  for (const v1::RingOccupancy& ring : cost.rings()) {
    absl::StrAppendFormat(&lines, "      ring from lcore %u: %u packets wait, at most %u of %u\n",
                          ring.from_lcore(), ring.packets(), ring.peak(), ring.capacity());
  }
  return lines;
}

absl::Status FlushOutput() {
  if (fflush(stdout) == 0 && ferror(stdout) == 0) return absl::OkStatus();
  return absl::DataLossError("cannot write to standard output");
}

absl::Status PrintJson(const google::protobuf::Message& message) {
  return Put(ToJson(message).dump(2));
}

absl::Status PrintJsonLine(const google::protobuf::Message& message) {
  return Put(ToJson(message).dump());
}

}  // namespace bfly::control
