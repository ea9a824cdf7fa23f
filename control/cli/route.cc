// SPDX-License-Identifier: Apache-2.0
// bfly route: runs a packet algorithm on the network of a topology file, step by step.
#include "dataplane/steps/route.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
  bool share_given = false;
  dataplane::RouteRequest request;
  dataplane::RouteOptions run;
};

absl::StatusOr<bfly::Relation> RelationOf(const RouteVerbOptions& options, uint32_t rows) {
  if (!options.destinations.empty()) return ReadRelationFile(options.destinations, rows);
  return RelationByName(options.permutation, rows, std::max(options.h, 1u), options.request.seed);
}

v1::RouteReport MessageOf(const dataplane::RouteReport& report, const std::string& program,
                          const Network& network) {
  v1::RouteReport out;
  out.set_program(program);
  out.set_network(std::string(KindName(network.kind())));
  out.set_rows(network.rows());
  out.set_packets(report.packets);
  out.set_delivered(report.delivered);
  out.set_left_out(report.left_out);
  out.mutable_faulty_inputs()->Add(report.faulty_inputs.begin(), report.faulty_inputs.end());
  out.mutable_faulty_outputs()->Add(report.faulty_outputs.begin(), report.faulty_outputs.end());
  out.set_faulty_switches(report.faulty_switches);
  out.set_finished(report.finished);
  out.set_trouble(report.trouble);
  out.set_steps(report.steps);
  out.set_phases(report.phases);
  for (const dataplane::WaveSummary& wave : report.waves) {
    v1::RouteWave& to = *out.add_waves();
    to.set_wave(wave.wave);
    to.set_packets(wave.packets);
    to.set_phases(wave.phases);
    to.set_steps(wave.steps);
  }
  out.set_mean_latency(report.mean_latency);
  out.set_max_latency(report.max_latency);
  out.set_congestion(report.congestion);
  for (size_t i = 0; i < report.levels.size(); ++i) {
    const dataplane::LevelWaits& level = report.levels[i];
    v1::RouteLevel& to = *out.add_levels();
    to.set_level(static_cast<uint32_t>(i));
    to.set_packets(level.packets);
    to.set_waited(level.waited);
    to.set_waited_steps(level.waited_steps);
    to.set_most_steps(level.most_steps);
    to.set_congestion(report.stage_congestion[i]);
  }
  const size_t levels = report.levels.size() + 1;
  const size_t rows = report.standing_of_level.size() / std::max<uint64_t>(report.samples, 1);
  for (size_t s = 0; s < report.samples; ++s) {
    v1::RouteSample& to = *out.add_samples();
    to.set_step(std::min(s * report.steps_a_sample, report.steps));
    const auto at = report.standing.begin() + static_cast<std::ptrdiff_t>(s * levels);
    to.mutable_levels()->Add(at, at + static_cast<std::ptrdiff_t>(levels));
    const auto row = report.standing_of_level.begin() + static_cast<std::ptrdiff_t>(s * rows);
    to.mutable_rows()->Add(row, row + static_cast<std::ptrdiff_t>(rows));
  }
  return out;
}

absl::Status RunRouteVerb(const RouteVerbOptions& options, const Common& common) {
  const absl::StatusOr<NetworkFile> file = ReadNetwork(options.file);
  if (!file.ok()) return file.status();
  const Network& network = file->network;
  dataplane::RouteRequest request = options.request;
  request.h = options.h;
  absl::StatusOr<bfly::Relation> relation = RelationOf(options, network.rows());
  if (!relation.ok()) return relation.status();
  request.relation = *std::move(relation);
  const absl::StatusOr<dataplane::QueueOrder> order = dataplane::QueueOrderFromName(options.order);
  if (!order.ok()) return order.status();
  request.order = *order;
  if (!options.share_given) {
    request.h_relation.share = std::min(request.h_relation.share, network.rows());
  }
  const absl::StatusOr<dataplane::RouteReport> report = dataplane::RunRoute(
      options.program, network, PlannedFaults(file->faults, network), request, options.run);
  if (!report.ok()) return report.status();
  const v1::RouteReport message = MessageOf(*report, options.program, network);
  if (common.json) {
    if (absl::Status status = PrintJson(message); !status.ok()) return status;
  } else {
    fputs(RouteReportText(message).c_str(), stdout);
    printf("\n");
    for (const std::string& line : DrawOverTime(message, options.run.level, TerminalCanvas())) {
      printf("%s\n", line.c_str());
    }
  }
  if (report->finished) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(
      options.program, " has not finished after ", report->steps, " steps: ", report->trouble, "; ",
      report->packets - report->left_out - report->delivered, " packets are not delivered"));
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
              "Run a packet algorithm on a network, step by step, and show what waited where",
              "bfly route topologies/examples/multibutterfly-64.yaml --program waves --waves 4\n"
              "  bfly route topologies/examples/extra-stages-64.yaml --program extra_stages --h 8 "
              "--level 3");
  auto options = std::make_shared<RouteVerbOptions>();
  std::vector<std::string> programs;
  for (const dataplane::RouteProgram& program : dataplane::AllRoutePrograms()) {
    programs.emplace_back(program.name);
  }
  verb->add_option("file", options->file, "Topology file (YAML); - is standard input")
      ->required()
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
      verb->add_option("--buffer", options->request.buffer,
                       "store_and_forward: a switch sends to a switch that held at most so many")
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
                                             "h_relation: R, a batch is divided among so many")
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
      verb->add_option("--max-steps", options->request.max_steps,
                       "waves, store_and_forward: end with a report after so many steps [when "
                       "nothing moves any more]")
          ->type_name("STEPS");
  verb->add_option("--level", options->run.level,
                   "Draw the rows of this level over time [all levels, without their rows]")
      ->check(CLI::Range(0, kMaxExtraStages + 20))
      ->type_name("LEVEL");
  verb->add_option("--workers", options->run.workers, "Threads that share the rows")
      ->check(CLI::Range(1, dataplane::kMaxRouteWorkers))
      ->capture_default_str()
      ->type_name("W");
  verb->callback([=, &invocation] {
    if (options->destinations.empty()) {
      CheckProgramTakes(h, *options, {"h_relation", "extra_stages", "store_and_forward"});
    }
    CheckProgramTakes(waves, *options, {"waves"});
    CheckProgramTakes(buffer, *options, {"store_and_forward"});
    CheckProgramTakes(order, *options, {"extra_stages"});
    for (const CLI::Option* option : {share, neighbours, iterations, rounds}) {
      CheckProgramTakes(option, *options, {"h_relation"});
    }
    CheckProgramTakes(max_steps, *options, {"waves", "store_and_forward"});
    options->share_given = share->count() > 0;
    invocation.action = [common = invocation.common, options] {
      return RunRouteVerb(*options, common);
    };
  });
}

}  // namespace bfly::control
