// SPDX-License-Identifier: Apache-2.0
// bfly route: runs a step program, step by step, on the network of a topology file or on the
// stage workers of the loaded fabric.
#include "dataplane/steps/route.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/programs.grpc.pb.h"
#include "control/agent/route_messages.h"
#include "control/cli/client.h"
#include "control/cli/network_file.h"
#include "control/cli/route_report_text.h"
#include "control/cli/terminal.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/topology_file/planned_faults.h"
#include "topologies/permutation.h"
#include "topologies/relation_file.h"

namespace bfly::control {
namespace {

struct RouteVerbOptions {
  std::string file;
  std::string program;
  uint32_t h = 0;
  std::string destinations;
  std::string permutation = "random";
  std::string order = "priority";
  dataplane::RouteRequest request;  // without the relation and what the fields above say
  int level = -1;
  int workers = 1;
  uint32_t frame_bytes = 0;
  bool share_given = false;
  bool in_band = false;
};

// What the program is told on a network of `rows` rows.
absl::StatusOr<v1::RouteRequest> RequestOf(const RouteVerbOptions& options, uint32_t rows) {
  v1::RouteRequest request;
  request.set_program(options.program);
  if (options.destinations.empty()) {
    request.set_permutation(options.permutation);
  } else {
    const absl::StatusOr<bfly::Relation> relation = ReadRelationFile(options.destinations, rows);
    if (!relation.ok()) return relation.status();
    for (Row input = 0; input < rows; ++input) {
      request.add_packets_of_input(relation->first[input + 1] - relation->first[input]);
    }
    request.mutable_outputs()->Add(relation->destinations.begin(), relation->destinations.end());
  }
  request.set_h(options.h);
  request.set_seed(options.request.seed);
  request.set_max_steps(options.request.max_steps);
  request.set_waves(options.request.waves);
  request.set_buffer(options.request.buffer);
  request.set_queue_limit(options.request.queue_limit);
  request.set_queue(options.order);
  const dataplane::HRelationConfig& config = options.request.h_relation;
  v1::RouteHRelation& h_relation = *request.mutable_h_relation();
  if (options.share_given) h_relation.set_share(config.share);
  h_relation.set_neighbours(static_cast<uint32_t>(config.neighbours));
  h_relation.set_iterations(static_cast<uint32_t>(config.iterations));
  h_relation.set_rounds(static_cast<uint32_t>(config.rounds));
  if (options.level >= 0) request.set_level(static_cast<uint32_t>(options.level));
  request.set_frame_bytes(options.frame_bytes);
  return request;
}

absl::StatusOr<v1::RouteReport> RunHere(const RouteVerbOptions& options) {
  const absl::StatusOr<NetworkFile> file = ReadNetwork(options.file);
  if (!file.ok()) return file.status();
  const Network& network = file->network;
  const absl::StatusOr<v1::RouteRequest> message = RequestOf(options, network.rows());
  if (!message.ok()) return message.status();
  const absl::StatusOr<dataplane::RouteRequest> request =
      ToRouteRequest(*message, network.rows(), std::numeric_limits<uint64_t>::max());
  if (!request.ok()) return request.status();
  absl::StatusOr<dataplane::RouteOptions> run = ToRouteOptions(*message);
  if (!run.ok()) return run.status();
  run->workers = options.workers;
  const absl::StatusOr<dataplane::RouteReport> report = dataplane::RunRoute(
      options.program, network, PlannedFaults(file->faults, network), *request, *run);
  if (!report.ok()) return report.status();
  return MessageOf(*report, options.program, network);
}

absl::StatusOr<uint32_t> RowsOfLoadedFabric(const Common& common) {
  auto fabric = v1::Fabric::NewStub(Connect(common));
  v1::StatusResponse status;
  const absl::Status called =
      Call(fabric.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &status, common);
  if (!called.ok()) return called;
  if (!status.status().loaded()) return absl::FailedPreconditionError("no fabric is loaded");
  return status.status().rows();
}

absl::StatusOr<v1::RouteReport> RunInBand(const RouteVerbOptions& options, const Common& common) {
  absl::StatusOr<NetworkFile> file = absl::NotFoundError("");
  absl::StatusOr<uint32_t> rows = 0;
  if (!options.file.empty()) {
    file = ReadNetwork(options.file);
    if (!file.ok()) return file.status();
    rows = file->network.rows();
  } else if (!options.destinations.empty()) {
    rows = RowsOfLoadedFabric(common);
    if (!rows.ok()) return rows.status();
  }
  absl::StatusOr<v1::RouteRequest> request = RequestOf(options, *rows);
  if (!request.ok()) return request.status();
  if (file.ok()) *request->mutable_network() = file->message;
  auto programs = v1::Programs::NewStub(Connect(common));
  v1::RouteReport report;
  const absl::Status status =
      Call(programs.get(), &v1::Programs::Stub::Route, *request, &report, common);
  if (!status.ok()) return status;
  return report;
}

absl::Status RunRouteVerb(const RouteVerbOptions& options, const Common& common) {
  const absl::StatusOr<v1::RouteReport> report =
      options.in_band ? RunInBand(options, common) : RunHere(options);
  if (!report.ok()) return report.status();
  if (common.json) {
    if (absl::Status status = PrintJson(*report); !status.ok()) return status;
  } else {
    fputs(RouteReportText(*report).c_str(), stdout);
    printf("\n");
    for (const std::string& line : DrawOverTime(*report, options.level, TerminalCanvas())) {
      printf("%s\n", line.c_str());
    }
  }
  if (report->finished()) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(
      options.program, " has not finished after ", report->steps(), " steps: ", report->trouble(),
      "; ", report->packets() - report->left_out() - report->delivered(),
      " packets are not delivered"));
}

std::string ProgramsHelp() {
  std::string help = "Algorithm that moves the packets:";
  for (const dataplane::RouteProgram& program : dataplane::AllRoutePrograms()) {
    absl::StrAppend(&help, " ", program.name, " (", program.about, ");");
  }
  help.pop_back();
  return help;
}

void CheckProgramTakes(const CLI::Option* option, const RouteVerbOptions& options,
                       const std::vector<std::string>& takers) {
  if (option->count() == 0) return;
  if (std::find(takers.begin(), takers.end(), options.program) != takers.end()) return;
  throw CLI::ValidationError(
      option->get_name(),
      "program " + options.program + " does not take it; takes it: " + absl::StrJoin(takers, ", "));
}

}  // namespace

void AddRoute(CLI::App& app, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(app, invocation, "route",
              "Run a step program on a network, step by step, and show what waited where",
              "bfly route topologies/examples/multibutterfly-64.yaml --program waves --waves 4\n"
              "  bfly route topologies/examples/extra-stages-64.yaml --program extra_stages --h 8 "
              "--level 3\n"
              "  bfly route --in-band --program waves --waves 4");
  TakesElectionId(verb, invocation);
  auto options = std::make_shared<RouteVerbOptions>();
  std::vector<std::string> programs;
  for (const dataplane::RouteProgram& program : dataplane::AllRoutePrograms()) {
    programs.emplace_back(program.name);
  }
  verb->add_option("file", options->file,
                   "Topology file (YAML); - is standard input. With --in-band it may be left out; "
                   "the loaded fabric must have its network")
      ->type_name("FILE");
  verb->add_option("--program", options->program, ProgramsHelp())
      ->required()
      ->check(CLI::IsMember(programs));
  CLI::Option* h = verb->add_option("--h", options->h,
                                    "Packets of an input [1]; with --destinations: no row may "
                                    "send or receive more")
                       ->check(CLI::Range(1u, kMaxRelationMessages))
                       ->type_name("H");
  CLI::Option* destinations =
      verb->add_option("--destinations", options->destinations,
                       "File with a line for each input: the outputs of its packets; - for none")
          ->type_name("FILE");
  verb->add_option("--permutation", options->permutation,
                   "Where the packets go, by name; random draws each of the h permutations anew")
      ->excludes(destinations)
      ->check(CLI::IsMember(PermutationNames()))
      ->capture_default_str();
  verb->add_option("--seed", options->request.seed, "Seed of everything that is random")
      ->capture_default_str();
  CLI::Option* waves =
      verb->add_option("--waves", options->request.waves,
                       "waves: L; wave w has the packets to outputs that are w modulo L")
          ->capture_default_str()
          ->type_name("L");
  CLI::Option* buffer =
      verb->add_option(
              "--buffer", options->request.buffer,
              "store_and_forward: a switch sends to a switch that held at most this many packets")
          ->capture_default_str()
          ->type_name("PACKETS");
  CLI::Option* queue_limit =
      verb->add_option(
              "--queue-limit", options->request.queue_limit,
              "greedy: a node behind the inputs holds at most this many packets; 0: no limit")
          ->capture_default_str()
          ->type_name("PACKETS");
  CLI::Option* order =
      verb->add_option("--queue", options->order, "extra_stages: order of queues: priority, fifo")
          ->check(CLI::IsMember({"priority", "fifo"}))
          ->capture_default_str();
  dataplane::HRelationConfig& config = options->request.h_relation;
  CLI::Option* share = verb->add_option("--share", config.share,
                                        "h_relation: L, one in L outputs is active at a time "
                                        "[32, or all rows if there are fewer]")
                           ->type_name("L");
  CLI::Option* neighbours = verb->add_option("--neighbours", config.neighbours,
                                             "h_relation: R, a batch is divided among this many")
                                ->capture_default_str()
                                ->type_name("R");
  CLI::Option* iterations =
      verb->add_option("--iterations", config.iterations, "h_relation: Z, requests in a stage")
          ->capture_default_str()
          ->type_name("Z");
  CLI::Option* rounds =
      verb->add_option("--rounds", config.rounds, "h_relation: Y, moves in a stage")
          ->capture_default_str()
          ->type_name("Y");
  CLI::Option* max_steps =
      verb->add_option(
              "--max-steps", options->request.max_steps,
              "waves, greedy, store_and_forward: end with a report after this many steps [when "
              "nothing moves any more]")
          ->type_name("STEPS");
  verb->add_option("--level", options->level,
                   "Draw the rows of this level over time [all levels, without their rows]")
      ->check(CLI::Range(0, kMaxExtraStages + 20))
      ->type_name("LEVEL");
  CLI::Option* in_band =
      verb->add_flag("--in-band", options->in_band,
                     "The stage workers of the loaded fabric take the steps, with packets of the "
                     "fabric; waves and store_and_forward go around what is down, and the others "
                     "are refused while something is down");
  verb->add_option("--frame-bytes", options->frame_bytes,
                   "With --in-band: every packet has a frame of this many bytes, 64 to "
                   "max_frame_bytes, and leaves by the host port of its output row, if the row "
                   "has one [no frames]")
      ->needs(in_band)
      ->check(CLI::Range(1u, 65535u))
      ->type_name("BYTES");
  verb->add_option("--workers", options->workers, "Threads that share the rows")
      ->excludes(in_band)
      ->check(CLI::Range(1, dataplane::kMaxRouteWorkers))
      ->capture_default_str()
      ->type_name("W");
  verb->callback([=, &invocation] {
    if (options->file.empty() && !options->in_band) throw CLI::RequiredError("file");
    if (options->destinations.empty()) {
      CheckProgramTakes(h, *options, {"h_relation", "greedy", "extra_stages", "store_and_forward"});
    }
    CheckProgramTakes(waves, *options, {"waves"});
    CheckProgramTakes(buffer, *options, {"store_and_forward"});
    CheckProgramTakes(queue_limit, *options, {"greedy"});
    CheckProgramTakes(order, *options, {"extra_stages"});
    for (const CLI::Option* option : {share, neighbours, iterations, rounds}) {
      CheckProgramTakes(option, *options, {"h_relation"});
    }
    CheckProgramTakes(max_steps, *options, {"waves", "greedy", "store_and_forward"});
    options->share_given = share->count() > 0;
    invocation.action = [common = invocation.common, options] {
      return RunRouteVerb(*options, common);
    };
  });
}

}  // namespace bfly::control
