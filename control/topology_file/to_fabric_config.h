// SPDX-License-Identifier: Apache-2.0
// Converts the API's messages to the plain values of topologies/ and dataplane/.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bfly/v1/topology.pb.h"
#include "dataplane/core/config.h"
#include "topologies/link_capacity.h"
#include "topologies/network.h"

namespace bfly::control {

// The network that a message describes; unset passes mean 1. InvalidArgument names the field within
// `network`.
absl::StatusOr<Network> NetworkOf(const v1::Network& network);
absl::StatusOr<NetworkSpec> ToNetworkSpec(const v1::Network& network);

// The number of circuits that each link may carry. The topology must have been checked: every link
// that it names exists.
LinkCapacity CapacityOf(const v1::Topology& topology, const Network& network);

struct Ipv4Block {
  uint32_t base = 0;  // host byte order
  int prefix_len = 32;
  uint64_t size() const { return uint64_t{1} << (32 - prefix_len); }
};

// "10.77.0.16/28". InvalidArgument says what is wrong with it, without naming a field.
absl::StatusOr<Ipv4Block> ParseIpv4Block(absl::string_view text);

// The configuration of the data plane called `data_plane`: its stages, ports and trunk ends. The
// topology must have passed CheckTopology or the reader. NotFound: it has no such data plane.
absl::StatusOr<dataplane::FabricConfig> ToFabricConfig(const v1::Topology& topology,
                                                       const std::string& data_plane);

}  // namespace bfly::control
