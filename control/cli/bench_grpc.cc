// SPDX-License-Identifier: Apache-2.0
// bfly bench grpc: set-ups and releases a second as a client of bfly-controller sees them, beside
// empty calls to the same server.
#include <csignal>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "control/cli/bench_report.h"
#include "control/cli/client.h"
#include "control/cli/grpc_load.h"
#include "control/cli/served_fabric.h"
#include "control/cli/syntax.h"
#include "control/cli/terminal.h"
#include "control/cli/text.h"
#include "control/server/number_option.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/runtime/cpus.h"
#include "topologies/permutation.h"

namespace bfly::control {
namespace {

using dataplane::RunStatistics;
using dataplane::StatisticsOf;

struct GrpcBenchOptions {
  uint32_t rows = 1024;
  uint32_t batch = 256;
  uint32_t callers = 64;
  int runs = 7;
  double seconds = 1;
  uint64_t seed = 1;
};

// Calls a second in every run, and the ratio of `calls` to `empty`.
struct Unary {
  std::vector<double> calls, empty, ratio;
};
struct Result {
  std::vector<double> stream, stream_single;  // operations a second
  Unary many, one;
};

absl::Status CheckEmpty(const Common& common) {
  const auto stub = v1::Circuits::NewStub(Connect(common));
  v1::ListResponse list;
  const absl::Status status =
      Call(stub.get(), &v1::Circuits::Stub::List, v1::ListRequest(), &list, common);
  if (!status.ok() || list.total() == 0) return status;
  return absl::InternalError(
      absl::StrCat(list.total(), " circuits stand after all were released: the figures are void"));
}

absl::Status Measure(const absl::StatusOr<Rate>& rate, std::vector<double>& rates) {
  if (rate.ok()) rates.push_back(rate->per_second());
  return rate.status();
}

// Measures set-ups and empty calls in turn. The one that comes first changes from run to run.
absl::Status MeasureUnary(const GrpcLoad& load, uint32_t callers, int run, Unary& unary) {
  absl::Status status;
  for (const int half : {0, 1}) {
    status.Update(half == run % 2 ? Measure(LoadEmpty(load, callers), unary.empty)
                                  : Measure(LoadUnary(load, callers), unary.calls));
  }
  if (status.ok()) unary.ratio.push_back(unary.calls.back() / unary.empty.back());
  return status;
}

absl::StatusOr<Result> Run(const GrpcBenchOptions& options, const Common& common,
                           SignalReader& signals) {
  absl::StatusOr<Permutation> outputs = PermutationByName("random", options.rows, options.seed);
  if (!outputs.ok()) return outputs.status();
  GrpcLoad load{Connect(common), *std::move(outputs), options.seconds / 10};
  Result result;
  Result warm_up;
  for (int run = -1; run < options.runs; ++run) {
    if (Interrupted(signals)) return absl::CancelledError("interrupted");
    Result& into = run < 0 ? warm_up : result;
    absl::Status status = Measure(LoadStream(load, options.batch), into.stream);
    status.Update(Measure(LoadStream(load, 1), into.stream_single));
    status.Update(MeasureUnary(load, options.callers, run + 1, into.many));
    status.Update(MeasureUnary(load, 1, run + 1, into.one));
    if (status.ok()) status = CheckEmpty(common);
    if (!status.ok()) return status;
    load.seconds = options.seconds;
  }
  return result;
}

nlohmann::ordered_json Json(const Unary& unary, uint32_t callers) {
  return {{"callers", callers},
          {"calls_per_second", SpreadJson(StatisticsOf(unary.calls))},
          {"empty_calls_per_second", SpreadJson(StatisticsOf(unary.empty))},
          {"ratio", SpreadJson(StatisticsOf(unary.ratio))}};
}

void PrintJson(const GrpcBenchOptions& options, const Result& result) {
  const RunStatistics stream = StatisticsOf(result.stream);
  const nlohmann::ordered_json out = {
      {"rows", options.rows},
      {"runs", options.runs},
      {"seconds", options.seconds},
      {"seed", options.seed},
      {"batch", options.batch},
      {"stream_operations_per_second", stream.median},
      {"stream_set_ups_per_second", stream.median / 2},
      {"stream_operations_per_second_spread", SpreadJson(stream)},
      {"stream_single_operations_per_second", SpreadJson(StatisticsOf(result.stream_single))},
      {"unary", Json(result.many, options.callers)},
      {"unary_one_caller", Json(result.one, 1)},
      {"machine", ProcessorName()},
      {"compiler", BFLY_COMPILER}};
  printf("%s\n", out.dump(2).c_str());
}

void PrintUnary(const Unary& unary, uint32_t callers) {
  const RunStatistics ratio = StatisticsOf(unary.ratio);
  printf("unary, %u caller%s\n", callers, callers == 1 ? "" : "s at a time");
  printf("  set-ups and releases   %s calls/s\n", SpreadText(StatisticsOf(unary.calls)).c_str());
  printf("  calls that do nothing  %s calls/s\n", SpreadText(StatisticsOf(unary.empty)).c_str());
  printf("  ratio                  %.2f (%.2f to %.2f)\n", ratio.median, ratio.lowest,
         ratio.highest);
}

void PrintText(const GrpcBenchOptions& options, const Result& result) {
  printf(
      "two-fold butterfly of %u rows, a bfly-controller and a bfly-dataplane of one worker; %d "
      "runs of %g s each, seed %lu\n",
      options.rows, options.runs, options.seconds, static_cast<unsigned long>(options.seed));
  printf("one stream, half of the operations set-ups, half releases\n");
  printf("  %4u a message         %s operations/s\n", options.batch,
         SpreadText(StatisticsOf(result.stream)).c_str());
  printf("     1 a message         %s operations/s\n",
         SpreadText(StatisticsOf(result.stream_single)).c_str());
  PrintUnary(result.many, options.callers);
  PrintUnary(result.one, 1);
  printf("%s, %s\n", ProcessorName().c_str(), BFLY_COMPILER);
}

absl::Status BenchGrpc(const GrpcBenchOptions& options, const Common& common) {
  SignalReader signals;  // before gRPC starts threads
  const auto fabric =
      ServedFabric::Start(ServedFabric::OneWorker("bench-grpc", options.rows, options.seed,
                                                  dataplane::UsableCpus().front()),
                          signals);
  if (!fabric.ok()) return fabric.status();
  const absl::StatusOr<Result> result = Run(options, (*fabric)->common(), signals);
  if (!result.ok()) return result.status();
  if (common.json) {
    PrintJson(options, *result);
  } else {
    PrintText(options, *result);
  }
  return absl::OkStatus();
}

}  // namespace

void AddGrpcBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      bench, invocation, "grpc",
      "Set-ups and releases a second that a client of the controller gets answered, down to "
      "the data plane, beside calls that do nothing. Starts a controller and a data plane "
      "of its own",
      "bfly bench grpc --rows 1024 --json");
  auto options = std::make_shared<GrpcBenchOptions>();
  verb->add_option("--rows", options->rows, "Rows of the two-fold butterfly, a power of two")
      ->check(CLI::Range(2u, 1u << 20))
      ->capture_default_str();
  verb->add_option("--batch", options->batch, "Operations in one message of the stream")
      ->check(CLI::Range(2u, 4096u))
      ->capture_default_str();
  verb->add_option("--callers", options->callers, "Unary calls at a time")
      ->check(CLI::Range(1u, 4096u))
      ->capture_default_str();
  verb->add_option("--runs", options->runs, "Runs: the median is reported, with the spread")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds, "Length of each measurement of a run")
      ->transform(TimeInSeconds())
      ->check(NumberFrom(0.01, 3600.0))
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--seed", options->seed, "Seed of network and permutation")
      ->capture_default_str();
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      return BenchGrpc(*options, common);
    };
  });
}

}  // namespace bfly::control
