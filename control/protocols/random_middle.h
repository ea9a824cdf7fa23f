// SPDX-License-Identifier: Apache-2.0
// The random row in the middle that valiant and q_limited send a request through.
#pragma once

#include "control/protocols/protocol.h"
#include "topologies/random.h"

namespace bfly::control {

// For a network of two copies: the tag of the path from input to output through a uniformly random
// row between the copies, among the rows that avoid faulty links. If every row meets a fault, the
// path goes through the row that would have been drawn without faults.
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
  // Few rows avoid the faults, or none does.
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
