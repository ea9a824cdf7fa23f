// SPDX-License-Identifier: Apache-2.0
// Which circuits List and Watch tell.
#pragma once

#include <optional>

#include "bfly/v1/circuits.pb.h"
#include "control/intent/fabric_state.h"
#include "control/status/field_errors.h"

namespace bfly::control {

struct CircuitFilter {
  std::optional<Row> input, output;
  std::optional<v1::LinkRef> link;
  std::optional<bool> broken;
};

// Makes the filter of a ListRequest or a WatchRequest.
template <class Request>
CircuitFilter FilterOf(const Request& request) {
  CircuitFilter filter;
  if (request.has_input()) filter.input = request.input();
  if (request.has_output()) filter.output = request.output();
  if (request.has_link()) filter.link = request.link();
  if (request.has_broken()) filter.broken = request.broken();
  return filter;
}

// Adds an error for each part of the filter that the network does not have.
inline void CheckFilter(const CircuitFilter& filter, const Network& network, FieldErrors& errors) {
  const Row last = network.rows() - 1;
  if (filter.input > last) errors.Add(OutOfRange("input", *filter.input, 0, last));
  if (filter.output > last) errors.Add(OutOfRange("output", *filter.output, 0, last));
  if (!filter.link.has_value()) return;
  const v1::LinkRef& link = *filter.link;
  if (link.stage() >= static_cast<uint32_t>(network.stages())) {
    errors.Add(OutOfRange("link.stage", link.stage(), 0, network.stages() - 1));
  }
  if (link.row() > last) errors.Add(OutOfRange("link.row", link.row(), 0, last));
  if (link.port() >= static_cast<uint32_t>(network.ports())) {
    errors.Add(OutOfRange("link.port", link.port(), 0, network.ports() - 1));
  }
}

// Whether the circuit passes the filter, which must have been checked.
inline bool Matches(const CircuitFilter& filter, const Network& network,
                    const StandingCircuit& circuit) {
  const CircuitPath& path = circuit.path;
  if (filter.broken.value_or(!circuit.broken.empty()) == circuit.broken.empty()) return false;
  if (filter.input.value_or(path.input) != path.input) return false;
  if (filter.output.value_or(path.output) != path.output) return false;
  if (!filter.link.has_value()) return true;
  const uint64_t link =
      network.link_index({static_cast<int>(filter.link->stage()), filter.link->row(),
                          static_cast<int>(filter.link->port())});
  bool crosses = false;
  ForEachLink(network, path.input, path.tag, [&](uint64_t index) { crosses |= index == link; });
  return crosses;
}

}  // namespace bfly::control
