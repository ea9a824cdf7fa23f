// SPDX-License-Identifier: Apache-2.0
// bfly counters: what every link, port and worker counted, once or as a live drawing.
#include <cinttypes>
#include <cstdio>

#include "bfly/v1/telemetry.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/picture.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/cli/watch.h"

namespace bfly::control {
namespace {

struct CountersOptions {
  WatchOptions watch;
  std::vector<uint32_t> stages;
  std::vector<uint32_t> rows;
  bool watching = false;
  bool nonzero = false;
  uint32_t top = 0;
};

std::string Drops(const google::protobuf::RepeatedPtrField<v1::DropCount>& drops) {
  std::string out;
  for (const v1::DropCount& drop : drops)
    if (drop.packets() > 0)
      out += (out.empty() ? "" : ", ") + drop.reason() + " " + std::to_string(drop.packets());
  return out;
}

void Print(const v1::Counters& counters, const CountersOptions& options) {
  printf("%5s %7s %4s %7s %8s %12s %14s %6s %6s  %s\n", "stage", "row", "port", "to row",
         "circuits", "packets", "bytes", "queued", "peak", "drops");
  for (const v1::LinkCounters& link : counters.links())
    printf("%5u %7u %4u %7u %8u %12" PRIu64 " %14" PRIu64 " %6u %6u  %s\n", link.stage(),
           link.row(), link.port(), link.next_row(), link.circuits(), link.packets(), link.bytes(),
           link.occupancy(), link.occupancy_peak(), Drops(link.drops()).c_str());
  if (counters.links().empty() && options.nonzero)
    printf("(no link has a circuit or ever carried a packet)\n");
  for (const v1::PortCounters& port : counters.ports()) {
    printf("port %s: received %" PRIu64 " frames (%" PRIu64 " bytes), sent %" PRIu64
           " frames (%" PRIu64 " bytes), missed %" PRIu64 "\n",
           port.name().c_str(), port.rx_packets(), port.rx_bytes(), port.tx_packets(),
           port.tx_bytes(), port.rx_missed());
    for (int i = 0; port.queues_size() > 1 && i < port.queues_size(); ++i)
      printf("  queue pair %d: received %" PRIu64 ", sent %" PRIu64 "\n", i,
             port.queues(i).rx_packets(), port.queues(i).tx_packets());
    if (const std::string drops = Drops(port.drops()); !drops.empty())
      printf("  drops: %s\n", drops.c_str());
    if (const std::string actions = Drops(port.xdp_actions()); !actions.empty())
      printf("  XDP program: %s\n", actions.c_str());
  }
  if (const std::string drops = Drops(counters.drops()); !drops.empty())
    printf("drops by reason: %s\n", drops.c_str());
  for (const std::string& problem : counters.problems()) printf("%s\n", problem.c_str());
  const v1::CircuitCounters& circuits = counters.circuits();
  if (circuits.asked() > 0 || circuits.broken() > 0) {
    printf("circuits: %" PRIu64 " stand, ", circuits.standing());
    if (circuits.broken() > 0) printf("%" PRIu64 " broken, ", circuits.broken());
    printf("%" PRIu64 " asked, %" PRIu64 " blocked (%.3g %%)\n", circuits.asked(),
           circuits.blocked(), 100 * circuits.blocking_ratio());
  }
  printf("%s\n", ConservationLine(counters.conservation()).c_str());
  if (Missed(counters) > 0) printf("%s\n", MissedLine(counters).c_str());
}

absl::Status Run(CountersOptions options, const Common& common) {
  v1::CounterFilter& filter = options.watch.filter;
  filter.mutable_stages()->Assign(options.stages.begin(), options.stages.end());
  filter.mutable_rows()->Assign(options.rows.begin(), options.rows.end());
  filter.set_nonzero(options.nonzero);
  filter.set_top(options.top);
  if (options.watching) {
    if (options.top > 0) options.watch.top = options.top;
    return Watch(options.watch, common);
  }
  auto stub = v1::Telemetry::NewStub(Connect(common));
  v1::GetCountersRequest request;
  *request.mutable_filter() = filter;
  v1::Counters counters;
  const absl::Status status =
      Call(stub.get(), &v1::Telemetry::Stub::GetCounters, request, &counters, common);
  if (!status.ok()) return status;
  if (common.json) return PrintJson(counters);
  Print(counters, options);
  return absl::OkStatus();
}

}  // namespace

void AddCounters(CLI::App& app, Invocation& invocation) {
  CLI::App* verb = NewVerb(app, invocation, "counters",
                           "Show the counters of links, ports and the account of packets",
                           "bfly counters --watch\n  bfly counters --top 5\n"
                           "  bfly counters --json | jq .conservation");
  auto options = std::make_shared<CountersOptions>();
  verb->add_flag("--watch,-w", options->watching,
                 "Draw the live congestion until Ctrl-C; with --json, or where standard output is "
                 "no terminal: one line a picture");
  verb->add_option("--top", options->top, "Only the K links with most circuits, then most packets")
      ->check(CLI::Range(1u, 1000000u))
      ->type_name("K");
  verb->add_flag("--nonzero", options->nonzero,
                 "Leave out links that never carried anything and have no circuit");
  AddRanges(*verb, "--stages", options->stages, "Only links of these stages");
  AddRanges(*verb, "--rows", options->rows, "Only links that leave these rows");
  verb->add_option("--interval", options->watch.interval_ms,
                   "Time between two pictures; a plain number is milliseconds")
      ->transform(TimeInMilliseconds())
      ->check(CLI::Range(10u, 60000u))
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--seconds", options->watch.seconds,
                   "Stop watching after so long; a plain number is seconds, 0: never")
      ->transform(TimeInSeconds())
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str()
      ->type_name("TIME");
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] { return Run(*options, common); };
  });
}

}  // namespace bfly::control
