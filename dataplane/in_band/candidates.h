// SPDX-License-Identifier: Apache-2.0
// The paths that a request may take: what the protocols choose among, whatever the network.
#pragma once

#include <array>
#include <vector>

#include "dataplane/in_band/report.h"
#include "topologies/switch_settings.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

// Two paths of one request share no link, so probes along both never wait for each other.
struct Candidates {
  Row input = 0;
  std::array<Tag, 2> tags = {};  // p and p'
};

// On a two-fold butterfly, in the order of the requests.
inline std::vector<Candidates> CandidatesOf(const CandidatePaths& paths,
                                            const std::vector<InBandRequest>& requests) {
  std::vector<Candidates> all;
  all.reserve(requests.size());
  for (const auto& [input, output] : requests) all.push_back({input, paths.tags(input, output)});
  return all;
}

}  // namespace bfly::dataplane
