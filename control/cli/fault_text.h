// SPDX-License-Identifier: Apache-2.0
// How verbs say what is down and what that makes unreachable, and how links and nodes that fail
// or are restored answer.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "bfly/v1/fabric.pb.h"
#include "control/cli/verb.h"

namespace bfly::control {

// "1 link is down; 4 of 64 pairs of input and output row have no path any more: 2 -> 6, ..." and a
// line each for rows that are cut off and for switches that count as faulty.
std::string FaultLines(const v1::FaultReport& report);

// Asks what is down now, and prints that with what `change` names.
absl::Status PrintFaultChange(v1::FaultChange change, const Common& common);

}  // namespace bfly::control
