// SPDX-License-Identifier: Apache-2.0
#include "topologies/tag.h"

#include "absl/strings/str_cat.h"

namespace bfly {

std::vector<Row> WalkTag(const Network& network, Row input, Tag tag) {
  const int hops = network.hops();
  std::vector<Row> rows{input};
  rows.reserve(hops + 1);
  for (int hop = 0; hop < hops; ++hop) {
    rows.push_back(
        network.next_row(network.stage_of_hop(hop), rows.back(), PortOfHop(tag, hop, hops)));
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
  Tag tag = 0;
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
    tag = (tag << 1) | static_cast<Tag>(port);
  }
  return tag;
}

Tag GreedyTag(const Network& network, Row input, Row output) {
  return network.two_copies() ? TagThrough(network, input, output) : LastBitsOf(network, output);
}

std::string TagToString(const Network& network, Tag tag) {
  std::string bits;
  for (int hop = 0; hop < network.hops(); ++hop) {
    if (hop > 0 && hop % network.dimension() == 0) bits += ' ';
    bits += PortOfHop(tag, hop, network.hops()) ? '1' : '0';
  }
  return bits;
}

}  // namespace bfly
