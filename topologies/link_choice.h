// SPDX-License-Identifier: Apache-2.0
// Some links of a network: those of some stages, rows and ports. Made for networks of so many links
// that looking at each costs time.
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

// Ranges that ascend and do not overlap; none: all numbers.
struct LinkRanges {
  std::vector<NumberRange> stages;
  std::vector<NumberRange> rows;
  std::vector<NumberRange> ports;
};

// The same numbers as ranges that ascend and do not touch.
std::vector<NumberRange> MergeRanges(std::vector<NumberRange> ranges);

// InvalidArgument names the first range that is no range, overlaps the one before, or has a number
// that is `limit` or above: "rows[2]: 7-4 ends before it begins".
absl::Status CheckRanges(absl::string_view field, const std::vector<NumberRange>& ranges,
                         uint64_t limit);

class LinkChoice {
 public:
  // `network` must outlive the object; CheckRanges agreed to each of `ranges`.
  LinkChoice(const Network& network, LinkRanges ranges);

  const LinkRanges& ranges() const { return ranges_; }
  bool Has(LinkId link) const;
  // Links chosen.
  uint64_t size() const;

  // Links first .. end - 1, by index, are of one stage, which is chosen, and of rows that are. Both
  // are the same: no chosen link has an index of `from` or above.
  struct Run {
    uint64_t first = 0;
    uint64_t end = 0;
  };
  // The run that begins first at `from` or behind.
  Run RunFrom(uint64_t from) const;
  // Ports are chosen within runs.
  bool all_ports() const { return ranges_.ports.empty(); }
  bool HasPort(uint64_t link_index) const;

  // Calls visit(index) for chosen links from `from` on, until it returns false.
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
