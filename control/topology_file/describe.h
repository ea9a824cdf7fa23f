// SPDX-License-Identifier: Apache-2.0
// The description of a network that the API and `bfly describe --json` give.
#pragma once

#include <string>

#include "bfly/v1/fabric.pb.h"
#include "topologies/network.h"

namespace bfly::control {

// `name` is the topology's. With `links`, the ends of every link in the order of its index.
v1::DescribeResponse DescribeNetwork(const Network& network, const std::string& name, bool links);

// What can be said of the expansion of a multibutterfly. Takes seconds for a large one.
v1::Expansion DescribeExpansion(const Network& network);

}  // namespace bfly::control
