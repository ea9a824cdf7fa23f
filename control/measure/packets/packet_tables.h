// SPDX-License-Identifier: Apache-2.0
// The tables and files that a measurement of packets leaves.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "control/measure/core/report.h"

namespace bfly::control {

// {series, saturation}.
void AddPacketResults(const Report& report, nlohmann::ordered_json& results);
// Writes a line for each point. `patterns`: the points have a pattern and a load instead of p and
// rho. ci95 is empty where one seed gives no interval.
std::string PacketCsv(const Report& report, bool patterns);
// The table of claims that a person reads, failures first. With `all`, it also lists claims that do
// not apply, and why.
std::string ClaimTable(const Report& report, bool all = true);
// Writes a line for every curve that saturates: its first saturated point with offered and accepted
// load.
std::string SaturationTable(const Report& report);
// On the wall clock, writes a line for every point: the lateness of the workers.
std::string LatenessTable(const Report& report);

}  // namespace bfly::control
