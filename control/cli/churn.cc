// SPDX-License-Identifier: Apache-2.0
// bfly circuit churn: circuits that come and go, on a running fabric or computed.
#include "control/protocols/churn.h"

#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/network_file.h"
#include "control/cli/terminal.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/protocols/circuit_set.h"

namespace bfly::control {
namespace {

using Clock = std::chrono::steady_clock;
constexpr char kAdversary[] = "adversary:";
constexpr std::chrono::milliseconds kNap{20};  // between two looks for a signal

struct Options {
  ChurnOptions churn;
  std::string arrivals = "poisson";
  std::string protocol = "minimum";
  double interval = 1;
  bool dry_run = false;
  std::string network;
};

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

v1::ChurnReport ToMessage(const ChurnReport& report, double wall_seconds) {
  v1::ChurnReport out;
  out.set_seconds(report.seconds);
  out.set_requests(report.requests);
  out.set_set_up(report.set_up);
  out.set_no_free_row(report.no_free_row);
  out.set_refused(report.refused);
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

void PrintLine(const v1::ChurnReport& report) {
  printf("%8.1f s  %" PRIu64 " stand, %" PRIu64 " set up, %" PRIu64 " released, %" PRIu64
         " refused  congestion %u (most %u, mean %.2f)\n",
         report.seconds(), report.standing(), report.set_up(), report.released(), report.refused(),
         report.congestion(), report.congestion_max(), report.congestion_mean());
  fflush(stdout);
}

void PrintEnd(const v1::ChurnReport& report) {
  PrintLine(report);
  printf("%s operations/s; %" PRIu64 " requests found no free row\n",
         Count(report.operations_per_second()).c_str(), report.no_free_row());
  printf("congestion over time:\n");
  for (int k = 0; k < report.share_size(); ++k) {
    const std::string bar(static_cast<size_t>(report.share(k) * 50 + 0.5), '#');
    printf("  %3d  %6.2f %%  %s\n", k, 100 * report.share(k), bar.c_str());
  }
}

absl::StatusOr<std::vector<ChurnStep>> ReadAdversary(const std::string& arrivals, Row rows) {
  if (arrivals == "poisson") return std::vector<ChurnStep>();
  const std::string path = arrivals.substr(sizeof kAdversary - 1);
  const std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("--arrivals: cannot open ", path));
  std::stringstream text;
  text << file.rdbuf();
  return ParseChurn(text.str(), rows, path);
}

absl::StatusOr<v1::ChurnReport> DryRun(Options options) {
  const absl::StatusOr<NetworkFile> file = ReadNetwork(options.network);
  if (!file.ok()) return file.status();
  const Network& network = file->network;
  auto adversary = ReadAdversary(options.arrivals, network.rows());
  if (!adversary.ok()) return adversary.status();
  options.churn.adversary = *std::move(adversary);
  const auto chooser = MakeChooser(options.protocol, network, {.seed = options.churn.seed});
  if (!chooser.ok()) return chooser.status();
  CircuitSet circuits(network);
  const ChurnTarget target{
      .set_up = [&](Row input, Row output) -> absl::StatusOr<std::vector<Row>> {
        const auto path = circuits.SetUp(**chooser, input, output);
        if (!path.ok()) return path.status();
        return WalkTag(network, input, path->tag);
      },
      .release = [&](Row input) { return circuits.Release(input).status(); }};
  const auto start = Clock::now();
  const auto report = RunChurn(
      network.rows(), network.stages(), options.churn, target, [](double) { return true; },
      [](const ChurnReport&) {});
  if (!report.ok()) return report.status();
  return ToMessage(*report, Since(start));
}

// Circuits of a running fabric, by input row.
class LiveTarget {
 public:
  LiveTarget(const Common& common, Row rows)
      : common_(common), stub_(v1::Circuits::NewStub(Connect(common))), id_(rows) {}

  absl::StatusOr<std::vector<Row>> SetUp(Row input, Row output) {
    v1::SetUpRequest request;
    request.set_input(input);
    request.set_output(output);
    v1::SetUpResponse response;
    const absl::Status status =
        Call(stub_.get(), &v1::Circuits::Stub::SetUp, request, &response, common_);
    if (!status.ok()) return status;
    id_[input] = response.circuit().id();
    return std::vector<Row>(response.circuit().rows().begin(), response.circuit().rows().end());
  }
  absl::Status Release(Row input) {
    v1::ReleaseRequest request;
    request.set_id(id_[input]);
    v1::ReleaseResponse response;
    const absl::Status status =
        Call(stub_.get(), &v1::Circuits::Stub::Release, request, &response, common_);
    if (status.ok()) id_[input] = 0;
    return status;
  }
  absl::Status ReleaseAll() {
    for (Row input = 0; input < id_.size(); ++input) {
      if (id_[input] == 0) continue;
      if (absl::Status status = Release(input); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  const Common& common_;
  std::unique_ptr<v1::Circuits::Stub> stub_;
  std::vector<uint64_t> id_;  // 0: none of ours
};

absl::StatusOr<v1::ChurnReport> Live(Options options, const Common& common) {
  SignalReader signals;  // before gRPC starts threads
  auto fabric = v1::Fabric::NewStub(Connect(common));
  v1::DescribeRequest request;
  v1::DescribeResponse network;
  absl::Status status = Call(fabric.get(), &v1::Fabric::Stub::Describe, request, &network, common);
  if (!status.ok()) return status;
  auto adversary = ReadAdversary(options.arrivals, network.rows());
  if (!adversary.ok()) return adversary.status();
  options.churn.adversary = *std::move(adversary);
  LiveTarget live(common, network.rows());
  const ChurnTarget target{
      .set_up = [&](Row input, Row output) { return live.SetUp(input, output); },
      .release = [&](Row input) { return live.Release(input); }};
  const auto start = Clock::now();
  const auto wait = [&](double at) {
    for (;;) {
      const int caught = signals.Next();
      if (caught == SIGINT || caught == SIGTERM) return false;
      const double left = at - Since(start);
      if (left <= 0) return true;
      std::this_thread::sleep_for(
          std::min(std::chrono::duration<double>(left), std::chrono::duration<double>(kNap)));
    }
  };
  double shown = 0;
  const auto look = [&](const ChurnReport& report) {
    if (Since(start) - shown < options.interval) return;
    shown = Since(start);
    if (common.json) return;
    PrintLine(ToMessage(report, shown));
  };
  const auto report = RunChurn(network.rows(), static_cast<int>(network.stages()), options.churn,
                               target, wait, look);
  const double seconds = Since(start);
  status = live.ReleaseAll();
  if (!report.ok()) return report.status();
  if (!status.ok()) return status;
  return ToMessage(*report, seconds);
}

absl::Status Run(const Options& options, const Common& common) {
  const absl::StatusOr<v1::ChurnReport> report =
      options.dry_run ? DryRun(options) : Live(options, common);
  if (!report.ok()) return report.status();
  if (common.json) return PrintJson(*report);
  PrintEnd(*report);
  return absl::OkStatus();
}

}  // namespace

void AddChurn(CLI::App& circuit, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      circuit, invocation, "churn",
      "Set up and release circuits again and again, and watch the congestion",
      "bfly circuit churn --rate 500 --holding 0.5 --duration 60\n"
      "  bfly circuit churn --dry-run --network topologies/examples/bb-1024.yaml --rate 1000");
  auto options = std::make_shared<Options>();
  verb->add_option(
          "--rate", options->churn.rate,
          "Requests a second, between uniformly random free rows; steps of a file a second")
      ->capture_default_str();
  verb->add_option("--holding", options->churn.holding,
                   "Seconds a circuit stands on average, exponentially distributed")
      ->capture_default_str();
  verb->add_option(
          "--arrivals", options->arrivals,
          "Poisson, or the steps of a file: setup INPUT OUTPUT, release INPUT, a line each")
      ->check([](const std::string& value) {
        return value == "poisson" || absl::StartsWith(value, kAdversary)
                   ? ""
                   : "is neither poisson nor adversary:FILE";
      })
      ->capture_default_str()
      ->type_name("poisson|adversary:FILE");
  options->churn.duration = 10;
  verb->add_option("--duration", options->churn.duration,
                   "Seconds; an adversary ends with its file")
      ->capture_default_str();
  verb->add_option("--seed", options->churn.seed, "Seed of the arrivals")->capture_default_str();
  verb->add_option("--interval", options->interval, "Seconds between two lines on a running fabric")
      ->check(CLI::Range(0.01, 86400.0))
      ->capture_default_str();
  CLI::Option* dry_run = verb->add_flag("--dry-run", options->dry_run,
                                        "Compute it, as fast as it goes, on the network of a file");
  CLI::Option* network =
      verb->add_option("--network", options->network, "Topology file of a dry run")
          ->needs(dry_run)
          ->type_name("FILE");
  dry_run->needs(network);
  verb->add_option(
          "--protocol", options->protocol,
          "Dry run: protocol that chooses one path at a time; a running fabric has its own")
      ->needs(dry_run)
      ->capture_default_str();
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] { return Run(*options, common); };
  });
}

}  // namespace bfly::control
