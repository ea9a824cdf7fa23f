// SPDX-License-Identifier: Apache-2.0
// What a measurement of packets leaves for people and programs to read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "control/measure/core/report.h"

namespace bfly::control {

// {series, saturation}.
void AddPacketResults(const Report& report, nlohmann::ordered_json& results);
// A line for each point. `patterns`: the points have a pattern and a load in place of p and rho.
std::string PacketCsv(const Report& report, bool patterns);
// The table of claims a person reads, failures first; with those that do not apply and why, or
// without.
std::string ClaimTable(const Report& report, bool all = true);
// A line for every curve that saturates: its first saturated point with offered and accepted load.
std::string SaturationTable(const Report& report);
// On the wall clock a line for every point: how far behind the workers fell.
std::string LatenessTable(const Report& report);

}  // namespace bfly::control
