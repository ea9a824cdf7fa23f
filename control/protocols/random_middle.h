// SPDX-License-Identifier: Apache-2.0
// The random row in the middle that valiant and q_limited send a request through.
#pragma once

#include "control/protocols/protocol.h"
#include "topologies/random.h"

namespace bfly::control {

// On a network of two copies: the tag of the path input -> output through a uniformly random row
// between them, among the rows that make the path whole. Where no row does, the row that would have
// been taken without faults.
inline Tag TagThroughRandomMiddle(const Network& network, const ProtocolOptions& options, Row input,
                                  Row output) {
  const Row rows = network.rows();
  const auto draw = [&](uint64_t attempt) {
    return TagThrough(
        network, RandomBelow(options.seed, RandomStream::kValiant, attempt * rows + input, rows),
        output);
  };
  const Tag first = draw(0);
  if (options.IsWhole(input, first)) return first;
  // Rejection keeps the choice uniform. Few faults need few attempts.
  constexpr uint64_t kAttempts = 64;
  for (uint64_t attempt = 1; attempt < kAttempts; ++attempt) {
    if (const Tag tag = draw(attempt); options.IsWhole(input, tag)) return tag;
  }
  // Hardly any row is left, or none.
  std::vector<Tag> whole;
  for (Row middle = 0; middle < rows; ++middle) {
    const Tag tag = TagThrough(network, middle, output);
    if (options.IsWhole(input, tag)) whole.push_back(tag);
  }
  if (whole.empty()) return first;
  return whole[RandomBelow(options.seed, RandomStream::kValiant, kAttempts * rows + input,
                           static_cast<uint32_t>(whole.size()))];
}

}  // namespace bfly::control
