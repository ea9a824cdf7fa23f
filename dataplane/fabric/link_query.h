// SPDX-License-Identifier: Apache-2.0
// Reading some links of a large fabric: those of some stages, rows and ports, or the k that stand
// out. Memory grows with what is answered, not with the network.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/fabric/fabric.h"
#include "topologies/link_choice.h"

namespace bfly::dataplane {

// Which links a reader wants. Links are known by their index in the network.
struct LinkQuery {
  static constexpr uint64_t kToTheEnd = ~uint64_t{0};

  // The links begin .. end - 1 are looked at, as far as they are the data plane's.
  uint64_t begin = 0;
  uint64_t end = kToTheEnd;
  // Of these only links of these stages, rows and ports.
  LinkRanges ranges = {};
  // Only links that ever carried or dropped a packet.
  bool used = false;
  // Looking ends with so many links; 0: it goes on to the end. Not with `top`.
  uint64_t most = 0;
  // Only the `top` links with the largest figure `by`; of equal ones those with the lowest index.
  // 0: all.
  uint64_t top = 0;
  LinkFigure by = LinkFigure::kPackets;
  // With `top`: bit i % 8 of byte i / 8 says whether link begin + i is looked at. Empty: every link
  // is.
  std::vector<uint8_t> among = {};
  // These links in any case, in ascending order.
  std::vector<uint64_t> also = {};
};

// InvalidArgument names the field and what is allowed on this network.
absl::Status CheckQuery(const LinkQuery& query, const Network& network);

struct LinkReading {
  struct Link {
    uint64_t index = 0;
    LinkCounters counters;
  };
  std::vector<Link> links;  // ascending
  // The first index that was not looked at.
  uint64_t end = 0;
};

// A query under way. It is carried on in pieces, so that its caller can let others in between.
class LinkScan {
 public:
  // `query` was checked, and outlives the scan, as does the network of the fabric.
  LinkScan(const LinkQuery& query, const Fabric& fabric);

  // Looks at about `links` more links of the same fabric. False: all were looked at.
  bool Continue(const Fabric& fabric, uint64_t links);
  // After Continue was false.
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
  // At the links from next_ on, which are of one run.
  void Look(const Fabric& fabric, uint64_t count);
  void Keep(const Fabric& fabric, uint64_t index, uint64_t value);

  const LinkQuery& query_;
  const LinkChoice choice_;
  uint64_t first_, end_;  // links that are the data plane's, and the end of those to look at
  uint64_t next_;
  bool full_ = false;  // query_.most links were found
  std::priority_queue<Candidate, std::vector<Candidate>, Better> best_;  // the worst is on top
  LinkReading reading_;
  std::vector<uint64_t> values_, uses_;
};

}  // namespace bfly::dataplane
