// SPDX-License-Identifier: Apache-2.0
#include "control/cli/bench_ports_loaded.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/cli/bench_report.h"
#include "dataplane/bench/port_kind.h"

namespace bfly::control {
namespace {

std::string NameOf(const dataplane::PortBenchRow& row) {
  return row.forward.empty()
             ? absl::StrFormat("bfly, %d stage%s", row.stages, row.stages == 1 ? "" : "s")
             : absl::StrCat("dpdk-testpmd ", row.forward);
}

// All ratios are over testpmd io, so it must have been the bottleneck of its runs too.
absl::Status CheckRatio(const dataplane::PortBenchResult& result,
                        const dataplane::PortBenchRow& row) {
  for (const dataplane::PortBenchRow* part : {&result.rows.front(), &row}) {
    const absl::Status status = CheckBottleneck(*part, result.alone_pps.median);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(NameOf(*part), ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

nlohmann::ordered_json RowJson(const dataplane::PortBenchRow& row, bool ratio) {
  nlohmann::ordered_json out = {{"program", row.forward.empty() ? "bfly" : "dpdk-testpmd"}};
  if (row.forward.empty()) {
    out["stages"] = row.stages;
  } else {
    out["forward"] = row.forward;
  }
  out["pps"] = SpreadJson(row.pps);
  out["per_cpu_second"] = SpreadJson(row.per_cpu_second);
  out["over_io"] = ratio ? SpreadJson(row.over_io) : nlohmann::ordered_json();
  out["cpu_over_io"] = ratio ? SpreadJson(row.cpu_over_io) : nlohmann::ordered_json();
  out["fed"] = SpreadJson(row.fed);
  out["drained"] = SpreadJson(row.drained);
  out["on_cpu"] = SpreadJson(row.on_cpu);
  out["in_kernel"] = SpreadJson(row.in_kernel);
  out["lost"] = row.lost ? nlohmann::ordered_json(*row.lost) : nlohmann::ordered_json();
  return out;
}

void PrintJson(const dataplane::PortBenchResult& result) {
  const dataplane::PortBenchOptions& options = result.options;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const dataplane::PortBenchRow& row : result.rows) {
    rows.push_back(RowJson(row, CheckRatio(result, row).ok()));
  }
  const nlohmann::ordered_json out = {{"ports", options.ports},
                                      {"frame_bytes", options.frame_bytes},
                                      {"runs", options.runs},
                                      {"seconds", options.seconds},
                                      {"rows", std::move(rows)},
                                      {"alone_pps", SpreadJson(result.alone_pps)},
                                      {"hand_over_ns", SpreadJson(result.hand_over_ns)},
                                      {"load_cpu", result.load_cpu},
                                      {"device_cpu", result.device_cpu},
                                      {"conservation", AccountJson(result.conservation)},
                                      {"machine", ProcessorName()},
                                      {"compiler", BFLY_COMPILER}};
  printf("%s\n", out.dump(2).c_str());
}

void PrintText(const dataplane::PortBenchResult& result) {
  const dataplane::PortBenchOptions& options = result.options;
  printf("%d-byte frames between two ports, %d runs of %.2f s, load on CPU %d, device on CPU %d\n",
         options.frame_bytes, options.runs, options.seconds, result.load_cpu, result.device_cpu);
  printf("  ports: %s\n", std::string(dataplane::FindPortKind(options.ports)->title).c_str());
  const dataplane::RunStatistics& ns = result.hand_over_ns;
  printf("  the load alone: %s frames/s\n", SpreadText(result.alone_pps).c_str());
  printf("  one CPU sees what the other wrote after %.0f ns (%.0f to %.0f)\n", ns.median, ns.lowest,
         ns.highest);
  printf("  %-20s %-24s %-20s %-8s %-8s %-8s %-10s %s\n", "", "frames/s", "over io", "fed",
         "drained", "on CPU", "in kernel", "lost");
  for (const dataplane::PortBenchRow& row : result.rows) {
    const dataplane::RunStatistics& over = row.over_io;
    const std::string ratio =
        CheckRatio(result, row).ok()
            ? absl::StrFormat("%.2f (%.2f to %.2f)", over.median, over.lowest, over.highest)
            : "-";
    const std::string lost = row.lost ? absl::StrFormat("%.2f %%", 100 * *row.lost) : "-";
    printf("  %-20s %-24s %-20s %5.1f %%  %5.1f %%  %5.1f %%  %5.1f %%    %s\n",
           NameOf(row).c_str(), SpreadText(row.pps).c_str(), ratio.c_str(), 100 * row.fed.median,
           100 * row.drained.median, 100 * row.on_cpu.median, 100 * row.in_kernel.median,
           lost.c_str());
  }
  printf("%s, %s\n", ProcessorName().c_str(), BFLY_COMPILER);
}

}  // namespace

absl::Status BenchLoaded(const dataplane::PortBenchOptions& options, const Common& common) {
  const absl::StatusOr<dataplane::PortBenchResult> result = dataplane::RunPortBench(options);
  if (!result.ok()) return result.status();
  if (common.json) {
    PrintJson(*result);
  } else {
    PrintText(*result);
  }
  absl::Status status = CheckAccount(result->conservation);
  for (const dataplane::PortBenchRow& row : result->rows) status.Update(CheckRatio(*result, row));
  return status;
}

}  // namespace bfly::control
