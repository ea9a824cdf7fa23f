// SPDX-License-Identifier: Apache-2.0
// Reads some links of a large fabric: the links of some stages, rows and ports, or the k links with
// the largest figures. Memory grows with the answer, not with the network.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/fabric/fabric.h"
#include "topologies/link_choice.h"

namespace bfly::dataplane {

// The links that a reader wants. A link is named by its index in the network.
struct LinkQuery {
  static constexpr uint64_t kToTheEnd = ~uint64_t{0};

  // The links begin .. end - 1 are looked at, if the data plane runs them.
  uint64_t begin = 0;
  uint64_t end = kToTheEnd;
  // Only links of these stages, rows and ports.
  LinkRanges ranges = {};
  // Only links that have carried or dropped a packet.
  bool used = false;
  // The scan ends after this many links; 0: at the last link. Not with `top`.
  uint64_t most = 0;
  // Only the `top` links with the largest figure `by`; of links with equal figures, those with the
  // lowest indices. 0: all links.
  uint64_t top = 0;
  LinkFigure by = LinkFigure::kPackets;
  // With `top`: bit i % 8 of byte i / 8 says whether link begin + i is looked at. Empty: every link
  // is looked at.
  std::vector<uint8_t> among = {};
  // The answer contains these links in any case. The indices ascend.
  std::vector<uint64_t> also = {};
};

// InvalidArgument names the field and what is allowed on this network.
absl::Status CheckQuery(const LinkQuery& query, const Network& network);

struct LinkReading {
  struct Link {
    uint64_t index = 0;
    LinkCounters counters;
  };
  std::vector<Link> links;  // in ascending order of index
  // The first index that was not looked at.
  uint64_t end = 0;
};

// A query in progress. Its caller continues it in pieces, so that others can run in between.
class LinkScan {
 public:
  // CheckQuery must have accepted `query`, which must outlive the scan, as must the fabric's
  // network.
  LinkScan(const LinkQuery& query, const Fabric& fabric);

  // Looks at about `links` more links of the same fabric. Returns false when it has looked at all
  // links.
  bool Continue(const Fabric& fabric, uint64_t links);
  // Call it after Continue has returned false.
  LinkReading Take(const Fabric& fabric);

 private:
  struct Candidate {
    uint64_t value;
    uint64_t index;
  };
  struct Better {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.value != b.value ? a.value > b.value : a.index < b.index;
    }
  };

  bool IsWanted(uint64_t index) const;
  // Looks at the links of one run, from next_ on.
  void Look(const Fabric& fabric, uint64_t count);
  void Keep(const Fabric& fabric, uint64_t index, uint64_t value);

  const LinkQuery& query_;
  const LinkChoice choice_;
  // The first link that may be the data plane's, and the end of the links to look at.
  uint64_t first_, end_;
  uint64_t next_;
  bool full_ = false;  // query_.most links were found
  // The candidate with the smallest figure is on top.
  std::priority_queue<Candidate, std::vector<Candidate>, Better> best_;
  LinkReading reading_;
  std::vector<uint64_t> values_, uses_;
};

}  // namespace bfly::dataplane
