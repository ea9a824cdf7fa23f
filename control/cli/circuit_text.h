// SPDX-License-Identifier: Apache-2.0
// Circuits as lines of text, and links as arguments.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bfly/v1/circuits.pb.h"
#include "control/cli/verb.h"

namespace bfly::control {

// "circuit 7: 3 -> 12, path p, rows 3 7 12, congestion 1", and the faulty links of a broken
// circuit.
std::string CircuitLine(const v1::Circuit& circuit);

inline constexpr char kAvoidHelp[] =
    "Links that no path may cross, such as 's1 r4 p1', besides links that are down; may be given "
    "more than once";

// Adds the links of selectors that each name a stage, rows and perhaps a port, such as 's1 r4 p1'.
// A selector without a port means all ports of the nodes, which the fabric is asked for.
absl::Status AddLinks(const std::vector<std::string>& selectors, const Common& common,
                      google::protobuf::RepeatedPtrField<v1::LinkRef>* links);

}  // namespace bfly::control
