// SPDX-License-Identifier: Apache-2.0
// Runs of step programs as messages of the API, to and from plain values. `bfly route` uses the
// same functions for a run in its own process.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bfly/v1/route.pb.h"
#include "dataplane/steps/route.h"

namespace bfly::control {

// The limits of one run over running workers.
inline constexpr uint64_t kMaxRoutePackets = uint64_t{1} << 24;
inline constexpr uint32_t kMaxRouteSamples = 200;

// The request for a network of `rows` rows. InvalidArgument names a wrong field; RunRoute checks
// the fields that depend on the program and the network. ResourceExhausted: more than
// `most_packets` packets.
absl::StatusOr<dataplane::RouteRequest> ToRouteRequest(const v1::RouteRequest& request,
                                                       uint32_t rows, uint64_t most_packets);
// InvalidArgument: max_samples is out of range.
absl::StatusOr<dataplane::RouteOptions> ToRouteOptions(const v1::RouteRequest& request);

// `report` is the report of a run of `program` on `network`.
v1::RouteReport MessageOf(const dataplane::RouteReport& report, absl::string_view program,
                          const Network& network);
// Everything except the report.
v1::RouteRecording MessageOf(const dataplane::RouteRecording& recording);

}  // namespace bfly::control
