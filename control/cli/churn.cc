// SPDX-License-Identifier: Apache-2.0
// bfly circuit churn: circuits that come and go, on a running fabric or by computation alone.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/cli/churn_run.h"
#include "control/cli/network_file.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/intent/path_planner.h"
#include "control/protocols/circuit_set.h"
#include "control/server/number_option.h"
#include "dataplane/runtime/elapsed.h"
#include "topologies/switch_settings.h"

namespace bfly::control {
namespace {

using Clock = std::chrono::steady_clock;
// Seconds. A busy machine may be this late now and then without a warning.
constexpr double kLate = 0.1;

void PrintEnd(const v1::ChurnReport& report, bool dry_run) {
  PrintChurnLine(report);
  printf("%.2f s of the wall clock", report.wall_seconds());
  if (!dry_run) printf(", behind by %.1f ms at most", 1e3 * report.behind_seconds_max());
  printf("\n");
  if (report.behind_seconds_max() > kLate) {
    printf("the rate was not kept: requests came later than --rate says\n");
  }
  printf("%s operations/s; %" PRIu64 " requests found no free row\n",
         Count(report.operations_per_second()).c_str(), report.no_free_row());
  printf("blocking ratio %.3g %%: %" PRIu64 " of %" PRIu64 " blocked; %" PRIu64 " busy\n",
         100 * report.blocking_ratio(), report.blocked(), report.set_up() + report.blocked(),
         report.busy());
  if (report.unreachable() != 0) {
    printf("%" PRIu64 " found no path without a link that is down\n", report.unreachable());
  }
  if (!report.first_refusal().empty()) {
    printf("the first refused: %s\n", report.first_refusal().c_str());
  }
  if (report.gone() != 0) {
    printf("%" PRIu64 " were released by somebody else\n", report.gone());
  }
  printf("congestion over time:\n");
  for (int k = 0; k < report.share_size(); ++k) {
    const std::string bar(static_cast<size_t>(report.share(k) * 50 + 0.5), '#');
    printf("  %3d  %6.2f %%  %s\n", k, 100 * report.share(k), bar.c_str());
  }
}

absl::StatusOr<v1::ChurnReport> DryRun(ChurnCommand options) {
  const absl::StatusOr<NetworkFile> file = ReadNetwork(options.network);
  if (!file.ok()) return file.status();
  const Network& network = file->network;
  auto adversary = ReadAdversary(options.adversary, network.rows());
  if (!adversary.ok()) return adversary.status();
  options.churn.adversary = *std::move(adversary);
  options.churn.ports = network.ports();
  options.churn.straight_is_free = network.straight_is_free();
  const Links links = LinksOf(*file);
  const auto chooser = MakeChooser(options.protocol.empty() ? "minimum" : options.protocol, network,
                                   {.seed = options.churn.seed,
                                    .faults = links.faults().empty() ? nullptr : &links.faults(),
                                    .capacity = &links.capacity()});
  if (!chooser.ok()) return chooser.status();
  std::optional<CandidatePaths> candidates;
  if (options.protocol.empty() || options.protocol == "minimum") {
    const auto settings = SwitchSettings::Make(network);
    if (settings.ok()) candidates.emplace(*settings);
  }
  CircuitSet circuits(network);
  const auto execute = [&](const ChurnStep& step) -> ChurnAnswer {
    if (!step.set_up) {
      const absl::Status released = circuits.Release(step.input).status();
      return released.ok() ? ChurnAnswer(ChurnPath()) : released;
    }
    if (absl::Status free = circuits.CheckFree(step.input, step.output); !free.ok()) return free;
    auto path = (*chooser)->Find(circuits.load(), step.input, step.output);
    if (!path.ok()) return path.status();
    absl::Status status = links.CheckPath(*path, circuits.load(), links.faults());
    if (!status.ok() && candidates.has_value()) {
      const CircuitPath other = OtherPath(*candidates, *path);
      if (links.CheckPath(other, circuits.load(), links.faults()).ok()) {
        path = other;
        status = absl::OkStatus();
      }
    }
    if (status.ok()) status = circuits.SetUp(*path);
    if (!status.ok()) return status;
    const std::vector<int> ports = PortsOfTag(network, path->tag);
    return ChurnPath(WalkTag(network, step.input, path->tag), {ports.begin(), ports.end()});
  };
  const ChurnTarget target{.execute =
                               [&](const std::vector<ChurnStep>& steps) {
                                 std::vector<ChurnAnswer> answers;
                                 for (const ChurnStep& step : steps) {
                                   answers.push_back(execute(step));
                                 }
                                 return answers;
                               },
                           .wait = [](double at, const ChurnReport&) { return at; }};
  const auto start = Clock::now();
  const auto report = RunChurn(network.rows(), network.stages(), options.churn, target);
  if (!report.ok()) return report.status();
  return ToMessage(*report, dataplane::SecondsSince(start));
}

// Returns FILE of `--arrivals adversary FILE` or adversary:FILE, and nothing for poisson.
std::string AdversaryOf(const std::vector<std::string>& arrivals) {
  if (arrivals.empty() || (arrivals.size() == 1 && arrivals[0] == "poisson")) return "";
  if (arrivals.size() == 2 && arrivals[0] == "adversary" && !arrivals[1].empty()) {
    return arrivals[1];
  }
  constexpr absl::string_view kAdversary = "adversary:";
  if (arrivals.size() == 1 && arrivals[0].size() > kAdversary.size() &&
      absl::StartsWith(arrivals[0], kAdversary)) {
    return arrivals[0].substr(kAdversary.size());
  }
  throw CLI::ValidationError("--arrivals", absl::StrCat(absl::StrJoin(arrivals, " "),
                                                        " is neither poisson nor adversary FILE"));
}

absl::Status NothingSetUp(const v1::ChurnReport& report) {
  std::string why = absl::StrCat("nothing was set up of ", report.requests(),
                                 " requests: ", report.no_free_row(), " found no free row, ",
                                 report.busy(), " were busy, ", report.blocked(), " blocked");
  if (report.unreachable() != 0) {
    absl::StrAppend(&why, ", ", report.unreachable(), " found no path without a link that is down");
  }
  if (!report.first_refusal().empty()) {
    absl::StrAppend(&why, "\n  the first refused: ", report.first_refusal());
  }
  if (report.others() != 0) {
    absl::StrAppend(&why, "\n  ", report.others(), " circuits of others stood when it began");
  }
  return absl::FailedPreconditionError(why);
}

absl::Status Run(const ChurnCommand& options, const Common& common) {
  const absl::StatusOr<v1::ChurnReport> report =
      options.dry_run ? DryRun(options) : RunLiveChurn(options, common);
  if (!report.ok()) return report.status();
  if (common.json) {
    const auto print = options.lines ? PrintJsonLine : PrintJson;
    if (absl::Status status = print(*report); !status.ok()) return status;
  } else {
    PrintEnd(*report, options.dry_run);
  }
  return report->requests() == 0 || report->set_up() != 0 ? absl::OkStatus()
                                                          : NothingSetUp(*report);
}

}  // namespace

absl::StatusOr<std::vector<ChurnStep>> ReadAdversary(const std::string& path, Row rows) {
  if (path.empty()) return std::vector<ChurnStep>();
  if (std::error_code error; std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--arrivals: ", path, " is a directory, not a file of steps"));
  }
  const std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("--arrivals: cannot open ", path));
  std::stringstream text;
  text << file.rdbuf();
  return ParseChurn(text.str(), rows, path);
}

v1::ChurnReport ToMessage(const ChurnReport& report, double wall_seconds) {
  v1::ChurnReport out;
  out.set_seconds(report.seconds);
  out.set_requests(report.requests);
  out.set_set_up(report.set_up);
  out.set_no_free_row(report.no_free_row);
  out.set_busy(report.busy);
  out.set_blocked(report.blocked);
  out.set_unreachable(report.unreachable);
  out.set_refused(report.busy + report.blocked + report.unreachable);
  out.set_gone(report.gone);
  if (const uint64_t asked = report.set_up + report.blocked; asked != 0) {
    out.set_blocking_ratio(static_cast<double>(report.blocked) / static_cast<double>(asked));
  }
  out.set_first_refusal(report.first_refusal);
  out.set_wall_seconds(wall_seconds);
  out.set_behind_seconds(report.behind);
  out.set_behind_seconds_max(report.behind_most);
  out.set_released(report.released);
  out.set_standing(report.standing);
  out.set_congestion(report.congestion);
  const std::vector<double>& with = report.seconds_with;
  const double all = std::accumulate(with.begin(), with.end(), 0.0);
  double mean = 0;
  for (size_t k = 0; k < with.size(); ++k) {
    out.add_share(all > 0 ? with[k] / all : 0);
    mean += static_cast<double>(k) * out.share(static_cast<int>(k));
  }
  out.set_congestion_max(with.empty() ? report.congestion : static_cast<uint32_t>(with.size() - 1));
  out.set_congestion_mean(mean);
  if (wall_seconds > 0) {
    out.set_operations_per_second(static_cast<double>(report.set_up + report.released) /
                                  wall_seconds);
  }
  return out;
}

void PrintChurnLine(const v1::ChurnReport& report) {
  printf("%8.1f s  %" PRIu64 " stand, %" PRIu64 " set up, %" PRIu64 " released, %" PRIu64
         " busy, %" PRIu64 " blocked  congestion %u (most %u, mean %.2f)",
         report.seconds(), report.standing(), report.set_up(), report.released(), report.busy(),
         report.blocked(), report.congestion(), report.congestion_max(), report.congestion_mean());
  if (report.behind_seconds() > kLate) printf("  behind by %.1f s", report.behind_seconds());
  printf("\n");
  fflush(stdout);
}

void AddChurn(CLI::App& circuit, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      circuit, invocation, "churn",
      "Set up and release circuits again and again, and watch the congestion",
      "bfly circuit churn --rate 500 --holding 0.5 --duration 60\n"
      "  bfly circuit churn --dry-run --network topologies/examples/bb-1024.yaml --rate 1000");
  TakesElectionId(verb, invocation);
  auto options = std::make_shared<ChurnCommand>();
  verb->add_option(
          "--rate", options->churn.rate,
          "Requests a second, between uniformly random free rows, such as 20k; steps of a file a "
          "second")
      ->transform(RatePerSecond())
      ->check(NumberFrom(0.0, kMaxChurnRate))
      ->capture_default_str()
      ->type_name("RATE");
  CLI::Option* holding =
      verb->add_option("--holding", options->churn.holding,
                       "How long a circuit stands on average, exponentially distributed; a plain "
                       "number is seconds")
          ->transform(TimeInSeconds())
          ->capture_default_str()
          ->type_name("TIME");
  auto arrivals = std::make_shared<std::vector<std::string>>();
  verb->add_option(
          "--arrivals", *arrivals,
          "Poisson, or the steps of a file: setup INPUT OUTPUT, release INPUT, a line each "
          "[poisson]")
      ->expected(1, 2)
      ->type_name("poisson|adversary FILE");
  options->churn.duration = 10;
  CLI::Option* duration =
      verb->add_option("--duration", options->churn.duration,
                       "How long to run; a plain number is seconds. An adversary "
                       "ends with its file")
          ->transform(TimeInSeconds())
          ->capture_default_str()
          ->type_name("TIME");
  verb->add_option("--seed", options->churn.seed, "Seed of the arrivals")->capture_default_str();
  CLI::Option* interval =
      verb->add_option(
              "--interval", options->interval,
              "Time between two lines on a running fabric, a plain number is seconds; given with "
              "--json, a message a line, the last at the end")
          ->transform(TimeInSeconds())
          ->check(NumberFrom(0.01, 86400.0))
          ->capture_default_str()
          ->type_name("TIME");
  CLI::Option* dry_run = verb->add_flag("--dry-run", options->dry_run,
                                        "Only compute, at full speed, on the network of a file");
  CLI::Option* network =
      verb->add_option("--network", options->network, "Topology file of a dry run")
          ->needs(dry_run)
          ->type_name("FILE");
  dry_run->needs(network);
  verb->add_option("--protocol", options->protocol,
                   "Protocol that chooses one path at a time, such as minimum, greedy or disjoint "
                   "[minimum; a running fabric: what `bfly circuit setup` uses]");
  interval->excludes(dry_run);
  verb->callback([&invocation, options, arrivals, interval, holding, duration] {
    options->adversary = AdversaryOf(*arrivals);
    for (const CLI::Option* poisson : {holding, duration}) {
      if (options->adversary.empty() || poisson->count() == 0) continue;
      throw CLI::ValidationError(poisson->get_name(), "is for poisson arrivals; a file has steps");
    }
    options->lines = interval->count() > 0;
    invocation.action = [common = invocation.common, options] { return Run(*options, common); };
  });
}

}  // namespace bfly::control
