// SPDX-License-Identifier: Apache-2.0
// What the reports of all benches have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "control/cli/verb.h"
#include "dataplane/bench/fabric_bench.h"
#include "dataplane/core/snapshot.h"

namespace bfly::control {

// The processor this runs on, as the system calls it.
std::string ProcessorName();

// "43.1M (41.0M to 44.2M)".
std::string SpreadText(const dataplane::RunStatistics& runs);
nlohmann::ordered_json SpreadJson(const dataplane::RunStatistics& runs);
nlohmann::ordered_json AccountJson(const dataplane::Conservation& account);

// Internal if packets are unaccounted for: the figures are void then.
absl::Status CheckAccount(const dataplane::Conservation& account);

void AddFabricBench(CLI::App& bench, Invocation& invocation);
void AddInBandBench(CLI::App& bench, Invocation& invocation);
void AddLinkBench(CLI::App& bench, Invocation& invocation);
void AddPortBench(CLI::App& bench, Invocation& invocation);
void AddVirtualBench(CLI::App& bench, Invocation& invocation);
void AddCircuitBench(CLI::App& bench, Invocation& invocation);
void AddGrpcBench(CLI::App& bench, Invocation& invocation);

}  // namespace bfly::control
