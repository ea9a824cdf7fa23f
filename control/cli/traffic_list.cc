// SPDX-License-Identifier: Apache-2.0
#include "control/cli/traffic_list.h"

#include <cinttypes>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bfly/v1/traffic.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/text.h"
#include "topologies/arrivals.h"

namespace bfly::control {
namespace {

// "constant 1k/s": when the packets of each row are born.
std::string ProcessOf(const v1::TrafficSource& source) {
  if (source.destination() == v1::TrafficSource::TRACE) return "trace";
  if (source.packets_per_second() == 0) return "unpaced";
  return absl::StrCat(ArrivalProcessName(static_cast<ArrivalProcess>(source.process())), " ",
                      Count(source.packets_per_second()), "/s");
}

std::string DestinationOf(const v1::TrafficSource& source) {
  switch (source.destination()) {
    case v1::TrafficSource::UNIFORM:
      return "uniform";
    case v1::TrafficSource::ROW:
      return absl::StrCat("row ", source.row());
    case v1::TrafficSource::PATTERN:
      return source.pattern() == "p-flip" ? absl::StrFormat("p-flip %g", source.p())
                                          : source.pattern();
    case v1::TrafficSource::TRACE:
      return "as recorded";
    default:
      return "circuit";
  }
}

// "812 ns", "43.1 us", "7.25 ms".
std::string Time(double nanoseconds) {
  constexpr struct {
    double size;
    const char* name;
  } kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  for (const auto& unit : kUnits) {
    if (nanoseconds >= unit.size)
      return absl::StrFormat("%.3g %s", nanoseconds / unit.size, unit.name);
  }
  return absl::StrFormat("%.3g ns", nanoseconds);
}

void PrintSources(const v1::ListTrafficResponse& response) {
  if (response.sources().empty()) {
    printf("no sources run\n");
    return;
  }
  printf("%-12s %-12s %-20s %-12s %12s %14s %10s  %s\n", "name", "rows", "process", "to", "packets",
         "bytes", "per s", "state");
  for (const v1::TrafficSourceStatus& status : response.sources()) {
    const v1::TrafficSource& source = status.source();
    const double rate =
        status.seconds() > 0 ? static_cast<double>(status.packets()) / status.seconds() : 0;
    std::string state = status.finished() ? "finished" : "runs";
    if (status.no_circuit() > 0) {
      absl::StrAppend(&state, ", ", status.no_circuit(), " dropped: no_circuit");
    }
    printf("%-12s %-12s %-20s %-12s %12" PRIu64 " %14" PRIu64 " %10s  %s\n",
           source.name().empty() ? "-" : source.name().c_str(),
           source.rows().empty() ? "all" : source.rows().c_str(), ProcessOf(source).c_str(),
           DestinationOf(source).c_str(), status.packets(), status.bytes(), Count(rate).c_str(),
           state.c_str());
  }
}

void PrintSummary(const std::string& what, const v1::LatencySummary& s) {
  printf("%-12s %12" PRIu64 " %9s %9s %9s %9s %9s %9s\n", what.c_str(), s.count(),
         Time(s.mean()).c_str(), Time(s.p50()).c_str(), Time(s.p90()).c_str(),
         Time(s.p99()).c_str(), Time(s.p999()).c_str(), Time(s.max()).c_str());
}

void PrintLatency(const v1::LatencyReport& report) {
  printf("%-12s %12s %9s %9s %9s %9s %9s %9s\n", "latency", "packets", "mean", "p50", "p90", "p99",
         "p99.9", "max");
  PrintSummary("end to end", report.end_to_end());
  PrintSummary("  links", report.links());
  PrintSummary("  late", report.late());
  for (const v1::StageLatency& stage : report.stages()) {
    PrintSummary(absl::StrCat("stage ", stage.stage()), stage.latency());
  }
}

absl::Status List(bool latency_alone, const Common& common) {
  auto stub = v1::Traffic::NewStub(Connect(common));
  v1::ListTrafficResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Traffic::Stub::List, v1::ListTrafficRequest(), &response, common);
  if (!status.ok()) return status;
  if (latency_alone && !response.latency().recording()) {
    return absl::FailedPreconditionError("no latency is recorded; start a source with --latency");
  }
  if (common.json) return latency_alone ? PrintJson(response.latency()) : PrintJson(response);
  if (!latency_alone) PrintSources(response);
  if (response.latency().recording()) PrintLatency(response.latency());
  return absl::OkStatus();
}

}  // namespace

void AddTrafficList(CLI::App& group, Invocation& invocation) {
  CLI::App* list = NewVerb(group, invocation, "list",
                           "List the sources with what each has sent, and the latency if recorded",
                           "bfly traffic list\n  bfly traffic list --json | jq .sources[].packets");
  list->callback([&invocation] {
    invocation.action = [common = invocation.common] { return List(false, common); };
  });
  CLI::App* latency = NewVerb(
      group, invocation, "latency",
      "Show the latency of delivered packets, end to end and by stage, since a source was started "
      "with --latency",
      "bfly traffic latency\n  bfly traffic latency --json | jq .end_to_end.p99");
  latency->callback([&invocation] {
    invocation.action = [common = invocation.common] { return List(true, common); };
  });
}

}  // namespace bfly::control
