// SPDX-License-Identifier: Apache-2.0
// Which links a client of Telemetry wants: checks, and the filter as ranges.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "bfly/v1/telemetry.pb.h"
#include "control/status/field_errors.h"
#include "topologies/link_choice.h"
#include "topologies/network.h"

namespace bfly::control {

// How many links there may be in a page, in an answer without pages, and in a list of the top ones.
inline constexpr uint32_t kMostOfPage = 32'768;
inline constexpr uint32_t kMostOfAnswer = 262'144;
inline constexpr uint32_t kMostTop = 65'536;

// Adds an error for each part of the filter that is outside the network or its range.
void CheckRanges(const v1::CounterFilter& filter, const Network& network, FieldErrors& errors);
// INVALID_ARGUMENT names every field; RESOURCE_EXHAUSTED: one answer cannot hold the links.
absl::Status CheckLinkRequest(const v1::GetCountersRequest& request, const Network& network);

// Makes ranges of the filter. CheckRanges must have agreed, and `network` must outlive the result.
LinkChoice ChoiceOf(const v1::CounterFilter& filter, const Network& network);
// Returns the index of the first link of the page.
uint64_t BeginOf(const v1::GetCountersRequest& request);

}  // namespace bfly::control
