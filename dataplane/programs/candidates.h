// SPDX-License-Identifier: Apache-2.0
// The paths that a request may take. Protocols choose one of them, whatever the network.
#pragma once

#include <array>
#include <vector>

#include "dataplane/programs/report.h"
#include "topologies/switch_settings.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

// The two paths of a request share no link, so messages along both never wait for each other (Cole
// et al. 1998, sections 2 and 3).
struct Candidates {
  Row input = 0;
  std::array<Tag, 2> tags = {};  // p and p'
  bool only = false;             // true: p is the only path
};

// The candidates on a two-fold butterfly, in the order of the requests.
inline std::vector<Candidates> CandidatesOf(const CandidatePaths& paths,
                                            const std::vector<InBandRequest>& requests) {
  std::vector<Candidates> all;
  all.reserve(requests.size());
  for (const auto& [input, output] : requests) all.push_back({input, paths.tags(input, output)});
  return all;
}

// The candidates on a randomly-wired butterfly, which lead to the copies of the object that is
// read, in the order of the reads.
inline std::vector<Candidates> CandidatesOf(const Network& network,
                                            const std::vector<InBandRead>& reads) {
  std::vector<Candidates> all;
  all.reserve(reads.size());
  for (const auto& [user, disks, copies] : reads) {
    const bool only = copies == 1;
    all.push_back({.input = user,
                   .tags = {GreedyTag(network, user, disks[0]),
                            GreedyTag(network, user, disks[only ? 0 : 1])},
                   .only = only});
  }
  return all;
}

}  // namespace bfly::dataplane
