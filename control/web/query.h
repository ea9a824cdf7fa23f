// SPDX-License-Identifier: Apache-2.0
// What a request's query says. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/circuits.pb.h"
#include "bfly/v1/route.pb.h"
#include "control/web/http.h"

namespace bfly::control {

// A number of the query, `otherwise` if it is not there. INVALID_ARGUMENT: it is not a number or
// not in min..max.
absl::StatusOr<uint64_t> NumberIn(const HttpRequest& request, const std::string& name, uint64_t min,
                                  uint64_t max, uint64_t otherwise);

// The run that the query names: program (waves if nothing is said), permutation, seed, and h,
// waves, buffer, queue_limit and queue for the programs that take them. The controller checks the
// values against the network.
absl::StatusOr<v1::RouteRequest> RunIn(const HttpRequest& request);

// What a person looks for: "3" is a circuit from or to row 3, "3-9" the circuit from 3 to 9. A
// circuit may come in both lists of the former.
absl::StatusOr<std::vector<v1::ListRequest>> CircuitsIn(const HttpRequest& request,
                                                        uint32_t page_size);

}  // namespace bfly::control
