// SPDX-License-Identifier: Apache-2.0
// The parts that the reports of all benches share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "control/cli/verb.h"
#include "dataplane/bench/fabric_bench.h"
#include "dataplane/bench/step_worker_bench.h"
#include "dataplane/core/snapshot.h"

namespace bfly::control {

// The name of this machine's processor, as the operating system gives it.
std::string ProcessorName();

// "43.1M (41.0M to 44.2M)".
std::string SpreadText(const dataplane::RunStatistics& runs);
nlohmann::ordered_json SpreadJson(const dataplane::RunStatistics& runs);
nlohmann::ordered_json AccountJson(const dataplane::Conservation& account);

// Internal: packets are unaccounted for, so the figures are void.
absl::Status CheckAccount(const dataplane::Conservation& account);

// What `bfly bench steps --in-band` does.
absl::Status BenchStepWorkers(const dataplane::StepWorkerBenchOptions& options,
                              const Common& common);

void AddFabricBench(CLI::App& bench, Invocation& invocation);
void AddInBandBench(CLI::App& bench, Invocation& invocation);
void AddLinkBench(CLI::App& bench, Invocation& invocation);
void AddMachineBench(CLI::App& bench, Invocation& invocation);
void AddPortBench(CLI::App& bench, Invocation& invocation);
void AddVirtualBench(CLI::App& bench, Invocation& invocation);
void AddStepBench(CLI::App& bench, Invocation& invocation);
void AddCircuitBench(CLI::App& bench, Invocation& invocation);
void AddGrpcBench(CLI::App& bench, Invocation& invocation);
void AddNdrBench(CLI::App& bench, Invocation& invocation);
void AddStartBench(CLI::App& bench, Invocation& invocation);
void AddTelemetryBench(CLI::App& bench, Invocation& invocation);
void AddAllBenches(CLI::App& bench, Invocation& invocation);

}  // namespace bfly::control
