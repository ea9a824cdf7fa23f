// SPDX-License-Identifier: Apache-2.0
// Checks a plan of links against a network. Pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "dataplane/links/link_shape.h"
#include "topologies/network.h"

namespace bfly::dataplane {

absl::Status CheckLinkShape(const std::string& at, const LinkShape& shape);

// The InvalidArgument error names the first wrong field, such as "links.rules[2].loss", its value
// and its range.
absl::Status CheckLinkPlan(const LinkPlan& plan, const Network& network);

}  // namespace bfly::dataplane
