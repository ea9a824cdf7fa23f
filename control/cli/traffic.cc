// SPDX-License-Identifier: Apache-2.0
// bfly traffic start|stop: the built-in sources.
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/traffic.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"
#include "control/cli/traffic_list.h"
#include "control/cli/verb.h"
#include "control/server/number_option.h"
#include "control/trace_file/trace_file.h"
#include "dataplane/traffic/source_config.h"
#include "topologies/arrivals.h"
#include "topologies/traffic_pattern.h"

namespace bfly::control {
namespace {

constexpr char kPermutationFile[] = "permutation:";

struct SourceOptions {
  std::string name;
  std::string rows;
  double packets_per_second = 1000;
  uint32_t bytes = 64;
  std::string to = "circuit";
  uint32_t priority = 0;
  uint64_t seed = 0;
  uint64_t packets = 0;
  std::string process = "constant";
  double slot = 0;
  double on = 0;
  double duty = 0.5;
  double p = 0.5;
  std::vector<uint32_t> hotspots;
  std::vector<uint32_t> weights;
  std::string trace;
  bool latency = false;
};

// Patterns that --to takes without further options.
std::vector<std::string> PatternNames() {
  std::vector<std::string> names = TrafficPatternNames();
  std::erase_if(names,
                [](const std::string& name) { return name == "permutation" || name == "uniform"; });
  return names;
}

absl::StatusOr<uint32_t> RowsOfFabric(const Common& common) {
  auto fabric = v1::Fabric::NewStub(Connect(common));
  v1::StatusResponse status;
  if (absl::Status called =
          Call(fabric.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &status, common);
      !called.ok()) {
    return called;
  }
  if (!status.status().loaded()) return absl::FailedPreconditionError("no fabric is loaded");
  return status.status().rows();
}

absl::Status SetDestination(const SourceOptions& options, const Common& common,
                            v1::TrafficSource& source) {
  const std::string& to = options.to;
  const std::vector<std::string> patterns = PatternNames();
  if (to == "circuit") {
    source.set_destination(v1::TrafficSource::CIRCUIT);
  } else if (to == "uniform") {
    source.set_destination(v1::TrafficSource::UNIFORM);
  } else if (std::find(patterns.begin(), patterns.end(), to) != patterns.end()) {
    source.set_destination(v1::TrafficSource::PATTERN);
    source.set_pattern(to);
    if (to == "p-flip") source.set_p(options.p);
    if (to == "hotspot") {
      source.mutable_hotspots()->Assign(options.hotspots.begin(), options.hotspots.end());
      source.mutable_weights()->Assign(options.weights.begin(), options.weights.end());
    }
  } else if (absl::StartsWith(to, kPermutationFile)) {
    const absl::StatusOr<uint32_t> rows = RowsOfFabric(common);
    if (!rows.ok()) return rows.status();
    const auto permutation = ReadPermutationFile(to.substr(sizeof(kPermutationFile) - 1), *rows);
    if (!permutation.ok()) return permutation.status();
    source.set_destination(v1::TrafficSource::PATTERN);
    source.set_pattern("permutation");
    source.mutable_permutation()->Assign(permutation->begin(), permutation->end());
  } else {
    uint32_t row = 0;
    if (!CLI::detail::lexical_cast(to, row))
      return absl::InvalidArgumentError(
          absl::StrCat("--to: '", to, "' is unknown; use a row, circuit, uniform, ",
                       absl::StrJoin(patterns, ", "), " or permutation:FILE"));
    source.set_destination(v1::TrafficSource::ROW);
    source.set_row(row);
  }
  return absl::OkStatus();
}

absl::Status SetTrace(const SourceOptions& options, const Common& common,
                      v1::TrafficSource& source) {
  const absl::StatusOr<uint32_t> rows = RowsOfFabric(common);
  if (!rows.ok()) return rows.status();
  const absl::StatusOr<TraceFile> file = ReadTraceFile(options.trace, *rows);
  if (!file.ok()) return file.status();
  if (file->foreign > 0) {
    fprintf(stderr, "bfly: %s: %" PRIu64 " frames that do not go from row to row are left out\n",
            options.trace.c_str(), file->foreign);
  }
  if (file->padded > 0) {
    fprintf(stderr, "bfly: %s: %" PRIu64 " frames are shorter than 64 bytes and count as 64\n",
            options.trace.c_str(), file->padded);
  }
  source.set_destination(v1::TrafficSource::TRACE);
  v1::TrafficTrace& trace = *source.mutable_trace();
  for (const dataplane::TracePacket& packet : file->trace) {
    trace.add_nanoseconds(packet.nanoseconds);
    trace.add_rows(packet.row);
    trace.add_destinations(packet.destination);
    trace.add_bytes(packet.bytes);
  }
  return absl::OkStatus();
}

absl::Status SetSource(const SourceOptions& options, const Common& common,
                       v1::TrafficSource& source) {
  source.set_name(options.name);
  source.set_latency(options.latency);
  source.set_priority(options.priority);
  if (!options.trace.empty()) return SetTrace(options, common, source);
  source.set_rows(options.rows);
  source.set_packets_per_second(options.packets_per_second);
  source.set_bytes(options.bytes);
  source.set_seed(options.seed);
  source.set_packets(options.packets);
  const absl::StatusOr<ArrivalProcess> process = ArrivalProcessByName(options.process);
  if (!process.ok()) return process.status();
  // The two enums have the same order.
  source.set_process(static_cast<v1::TrafficSource::Process>(*process));
  source.set_slot(options.slot);
  source.set_on(options.on);
  source.set_duty(options.duty);
  return SetDestination(options, common, source);
}

// Throws CLI::ValidationError, which means wrong usage, if `option` was given and the value of
// `other`, "--to" or "--process", is none of the `takers`.
void CheckTakenBy(const CLI::Option* option, const std::string& other, const std::string& value,
                  const std::vector<std::string>& takers) {
  if (option->count() == 0 || std::find(takers.begin(), takers.end(), value) != takers.end()) {
    return;
  }
  throw CLI::ValidationError(option->get_name(),
                             absl::StrCat(other, " ", value, " does not take it (allowed: ", other,
                                          " ", absl::StrJoin(takers, " or "), ")"));
}

void CheckOptions(const CLI::App& start, const SourceOptions& source) {
  CheckTakenBy(start.get_option("--p"), "--to", source.to, {"p-flip"});
  CheckTakenBy(start.get_option("--hotspots"), "--to", source.to, {"hotspot"});
  CheckTakenBy(start.get_option("--weights"), "--to", source.to, {"hotspot"});
  CheckTakenBy(start.get_option("--slot"), "--process", source.process,
               {"bernoulli", "slotted-batch"});
  CheckTakenBy(start.get_option("--on"), "--process", source.process, {"on-off"});
  CheckTakenBy(start.get_option("--duty"), "--process", source.process, {"on-off"});
}

absl::Status Start(const SourceOptions& options, const Common& common) {
  v1::StartTrafficRequest request;
  v1::TrafficSource& source = *request.add_sources();
  if (absl::Status status = SetSource(options, common, source); !status.ok()) return status;
  auto stub = v1::Traffic::NewStub(Connect(common));
  v1::StartTrafficResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Traffic::Stub::Start, request, &response, common);
  if (!status.ok()) return status;
  if (common.json) return PrintJson(request);
  if (!options.trace.empty()) {
    printf("a trace of %d packets runs\n", source.trace().rows_size());
  } else {
    printf("sources run on %s\n",
           options.rows.empty() ? "all rows" : ("rows " + options.rows).c_str());
  }
  return absl::OkStatus();
}

absl::Status Stop(const std::vector<std::string>& names, const Common& common) {
  auto stub = v1::Traffic::NewStub(Connect(common));
  v1::StopTrafficRequest request;
  request.mutable_names()->Assign(names.begin(), names.end());
  v1::StopTrafficResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Traffic::Stub::Stop, request, &response, common);
  if (!status.ok()) return status;
  if (common.json) return PrintJson(response);
  printf("%s stopped\n",
         names.empty() ? "sources are" : (absl::StrJoin(names, ", ") + ":").c_str());
  return absl::OkStatus();
}

void AddStart(CLI::App& group, Invocation& invocation) {
  CLI::App* start = NewVerb(
      group, invocation, "start",
      "Start sources at input rows. They replace running sources of the same name; all others "
      "go on",
      "bfly traffic start --rows 4-15 --rate 5000 --to circuit\n"
      "  bfly traffic start --name flip --process poisson --rate 2000 --to p-flip --p 0.25 "
      "--latency\n"
      "  bfly traffic start --name hot --to hotspot --hotspots 3,7 --weights 2,1\n"
      "  bfly traffic start --name replay --trace capture.pcap");
  TakesElectionId(start, invocation);
  auto source = std::make_shared<SourceOptions>();
  start->add_option("--name", source->name, "Name of these sources; left out: they have none")
      ->type_name("NAME");
  start->add_option("--rows", source->rows, "Input rows that send, such as 4-15; left out: all")
      ->type_name("RANGES");
  start
      ->add_option("--rate", source->packets_per_second,
                   "Packets a second of each row, such as 20k; 0: as fast as the worker allows")
      ->transform(RatePerSecond())
      ->check(NumberFrom(0.0, dataplane::kHighestRate))
      ->capture_default_str()
      ->type_name("RATE");
  start->add_option("--bytes", source->bytes, "Length of a packet, 64 to 9018")
      ->check(CLI::Range(64u, 9018u))
      ->capture_default_str();
  start
      ->add_option("--to", source->to,
                   "Where to: `circuit` (the output of the row's circuit; rows without one send "
                   "nothing), `uniform` (over all rows), a row, " +
                       absl::StrJoin(PatternNames(), ", ") + ", or permutation:FILE")
      ->capture_default_str()
      ->type_name("PATTERN");
  start->add_option("--p", source->p, "p-flip: probability that a bit differs from the origin's")
      ->check(NumberFrom(0.0, 1.0))
      ->capture_default_str();
  AddRanges(*start, "--hotspots", source->hotspots, "hotspot: the rows");
  start
      ->add_option("--weights", source->weights,
                   "hotspot: what part of the packets each gets; left out: equal parts")
      ->delimiter(',')
      ->type_name("W,W...");
  start
      ->add_option("--process", source->process,
                   "When packets are born: constant gaps, poisson, bernoulli (at most one a slot), "
                   "on-off (poisson while on), or slotted-batch (poisson, at slot starts)")
      ->check(CLI::IsMember(
          std::vector<std::string>{"constant", "poisson", "bernoulli", "on-off", "slotted-batch"}))
      ->capture_default_str();
  start->add_option("--slot", source->slot, "bernoulli, slotted-batch: length of a slot")
      ->transform(TimeInSeconds(""))
      ->type_name("TIME");
  start->add_option("--on", source->on, "on-off: mean length of an on period")
      ->transform(TimeInSeconds(""))
      ->type_name("TIME");
  start->add_option("--duty", source->duty, "on-off: part of the time that is on")
      ->check(NumberFrom(0.0, 1.0))
      ->capture_default_str();
  start
      ->add_option("--priority", source->priority,
                   "Priority of all packets; higher goes first on links with discipline priority")
      ->check(CLI::Range(0u, 7u))
      ->capture_default_str();
  start->add_option("--seed", source->seed, "Seed of the random choices")->capture_default_str();
  start->add_option("--packets", source->packets, "Packets of each row; 0: until stopped")
      ->capture_default_str();
  CLI::Option* trace =
      start
          ->add_option("--trace", source->trace,
                       "Send the packets of a capture (pcap) or of a CSV file with "
                       "time,row,destination,bytes, once")
          ->type_name("FILE");
  for (const char* other : {"--rows", "--rate", "--bytes", "--to", "--p", "--hotspots", "--weights",
                            "--process", "--slot", "--on", "--duty", "--seed", "--packets"}) {
    trace->excludes(start->get_option(other));
  }
  start->add_flag("--latency", source->latency,
                  "Record latencies from now on, until these sources are stopped");
  start->callback([&invocation, source, start] {
    CheckOptions(*start, *source);
    invocation.action = [common = invocation.common, source] { return Start(*source, common); };
  });
}

}  // namespace

void AddTraffic(CLI::App& app, Invocation& invocation) {
  CLI::App* group = NewGroup(app, "traffic", "Start, stop and list the built-in traffic sources",
                             "bfly traffic start --rows 4-15 --rate 5000");
  AddStart(*group, invocation);
  CLI::App* stop = NewVerb(*group, invocation, "stop", "Stop built-in sources",
                           "bfly traffic stop\n  bfly traffic stop hot");
  TakesElectionId(stop, invocation);
  auto names = std::make_shared<std::vector<std::string>>();
  stop->add_option("name", *names, "Names of sources; left out: all of them")->type_name("SOURCE");
  stop->callback([&invocation, names] {
    invocation.action = [common = invocation.common, names] { return Stop(*names, common); };
  });
  AddTrafficList(*group, invocation);
}

}  // namespace bfly::control
