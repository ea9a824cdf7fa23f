// SPDX-License-Identifier: Apache-2.0
// A choice of links by stage, row and port. Finding the chosen links does not look at all links,
// because a network may have millions of them.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "topologies/network.h"

namespace bfly {

struct NumberRange {
  uint32_t first = 0;
  uint32_t last = 0;  // included
  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

// Each list of ranges ascends, and its ranges do not overlap. An empty list means all numbers.
struct LinkRanges {
  std::vector<NumberRange> stages;
  std::vector<NumberRange> rows;
  std::vector<NumberRange> ports;
};

// Returns ranges of the same numbers that ascend and do not touch.
std::vector<NumberRange> MergeRanges(std::vector<NumberRange> ranges);

// InvalidArgument names the first range that ends before it begins, overlaps the range before it,
// or reaches `limit` or above: "rows[2]: 7-4 ends before it begins".
absl::Status CheckRanges(absl::string_view field, const std::vector<NumberRange>& ranges,
                         uint64_t limit);

class LinkChoice {
 public:
  // `network` must outlive the object. CheckRanges must have accepted every list of `ranges`.
  LinkChoice(const Network& network, LinkRanges ranges);

  const LinkRanges& ranges() const { return ranges_; }
  bool Has(LinkId link) const;
  // The number of chosen links.
  uint64_t size() const;

  // Links first..end-1, by index, lie in one chosen stage and in chosen rows. If first equals end,
  // no chosen link has an index of `from` or above.
  struct Run {
    uint64_t first = 0;
    uint64_t end = 0;
  };
  // Returns the first run that begins at `from` or above.
  Run RunFrom(uint64_t from) const;
  // If only some ports are chosen, a run also has links that are not; HasPort tells them apart.
  bool all_ports() const { return ranges_.ports.empty(); }
  bool HasPort(uint64_t link_index) const;

  // Calls visit(index) for the chosen links with an index of `from` or above, until visit returns
  // false.
  template <typename Visit>
  void ForEachFrom(uint64_t from, Visit&& visit) const {
    for (Run run = RunFrom(from); run.first != run.end; run = RunFrom(run.end)) {
      for (uint64_t index = run.first; index < run.end; ++index) {
        if (!all_ports() && !HasPort(index)) continue;
        if (!visit(index)) return;
      }
    }
  }

 private:
  const uint64_t stages_;
  const uint64_t rows_;
  const uint64_t ports_;
  const LinkRanges ranges_;
};

}  // namespace bfly
