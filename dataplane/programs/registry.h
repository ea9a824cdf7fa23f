// SPDX-License-Identifier: Apache-2.0
// Finds and makes programs by their parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/core/route_table.h"
#include "dataplane/programs/candidates.h"
#include "dataplane/programs/parameters.h"
#include "dataplane/programs/program.h"

namespace bfly::dataplane {

// The names are in the order of the alternatives of ProgramParameters.
std::vector<std::string> ProgramNames();

// InvalidArgument names the parameter that is out of range. `reads`: the wanted circuits are reads
// of the data server.
absl::Status CheckParameters(const ProgramParameters& parameters, bool reads);

// Inputs must be in range, used once, and free. Either all requests have two paths, or all have one
// path and there is nothing to choose. `routes` gets the circuits and must outlive the program.
// `limited`: some links have a capacity or are down. After a refusal no circuit is installed.
std::unique_ptr<CircuitProgram> MakeProgram(const ProgramParameters& parameters,
                                            std::vector<Candidates> requests, RouteTable& routes,
                                            bool limited);

}  // namespace bfly::dataplane
