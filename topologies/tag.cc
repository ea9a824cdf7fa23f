// SPDX-License-Identifier: Apache-2.0
#include "topologies/tag.h"

#include "absl/strings/str_cat.h"

namespace bfly {

std::vector<Row> WalkTag(const Network& network, Row input, Tag tag) {
  const TagLayout& layout = network.tag_layout();
  std::vector<Row> rows{input};
  rows.reserve(layout.hops + 1);
  for (int hop = 0; hop < layout.hops; ++hop) {
    rows.push_back(network.next_row(network.stage_of_hop(hop), rows.back(), layout.port(tag, hop)));
  }
  return rows;
}

absl::StatusOr<Tag> TagOfPath(const Network& network, const std::vector<Row>& rows) {
  const int hops = network.hops();
  if (rows.size() != static_cast<size_t>(hops) + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("rows: ", rows.size(), " given, a path has ", hops + 1));
  }
  for (size_t level = 0; level < rows.size(); ++level) {
    if (rows[level] >= network.rows()) {
      return absl::InvalidArgumentError(
          absl::StrCat("rows[", level, "]: ", rows[level], " is outside 0..", network.rows() - 1));
    }
  }
  std::vector<int> ports;
  for (int hop = 0; hop < hops; ++hop) {
    const int stage = network.stage_of_hop(hop);
    int port = 0;
    while (port < network.ports() && network.next_row(stage, rows[hop], port) != rows[hop + 1]) {
      ++port;
    }
    if (port == network.ports()) {
      return absl::InvalidArgumentError(absl::StrCat("rows[", hop + 1, "]: no link of stage ",
                                                     stage, " leads from row ", rows[hop],
                                                     " to row ", rows[hop + 1]));
    }
    ports.push_back(port);
  }
  return TagOfPorts(network, ports);
}

absl::StatusOr<Tag> TagOfPorts(const Network& network, const std::vector<int>& ports) {
  const TagLayout& layout = network.tag_layout();
  if (ports.size() != static_cast<size_t>(layout.hops)) {
    return absl::InvalidArgumentError(
        absl::StrCat("ports: ", ports.size(), " given, a path has ", layout.hops));
  }
  Tag tag = 0;
  for (int hop = 0; hop < layout.hops; ++hop) {
    if (ports[hop] < 0 || ports[hop] >= network.ports()) {
      return absl::InvalidArgumentError(
          absl::StrCat("ports[", hop, "]: ", ports[hop], " is outside 0..", network.ports() - 1));
    }
    tag = tag << layout.field_bits | static_cast<Tag>(layout.field_of(ports[hop]));
  }
  return tag;
}

std::vector<int> PortsOfTag(const Network& network, Tag tag) {
  std::vector<int> ports;
  for (int hop = 0; hop < network.hops(); ++hop) ports.push_back(PortOfHop(network, tag, hop));
  return ports;
}

Tag GreedyTag(const Network& network, Row input, Row output) {
  if (const int extra = network.extra_hops(); extra > 0) {
    // A packet that keeps its row goes in the directions of its row's own bits.
    Tag tag = 0;
    for (int hop = 0; hop < extra; ++hop) {
      tag = tag << 1 | (input & network.wiring(network.stage_of_hop(hop)).mask ? 1 : 0);
    }
    return tag << network.dimension() | LastBitsOf(network, output);
  }
  return network.two_copies() ? TagThrough(network, input, output) : LastBitsOf(network, output);
}

std::string TagToString(const Network& network, Tag tag) {
  std::string bits;
  for (int hop = 0; hop < network.hops(); ++hop) {
    const int port = PortOfHop(network, tag, hop);
    const int direction = network.direction_of(port);
    if (network.multiplicity() > 1) {
      absl::StrAppend(&bits, hop > 0 ? " " : "", direction, ".",
                      port - direction * network.multiplicity());
      continue;
    }
    // The hops of extra stages, of which there may be more than of a copy, are one group.
    const int of_copies = hop - network.extra_hops();
    if (hop > 0 && of_copies >= 0 && of_copies % network.dimension() == 0) bits += ' ';
    bits += direction ? '1' : '0';
  }
  return bits;
}

}  // namespace bfly
