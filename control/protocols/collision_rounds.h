// SPDX-License-Identifier: Apache-2.0
// The rounds of a collision protocol on any network: each request has some paths, each path crosses
// one link of every column, and each column has a threshold (Cole et al. 1998, sections 2.1 and
// 3.1, where a request has two paths).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "topologies/crew.h"
#include "topologies/fault_set.h"

namespace bfly::control {

// The links of one stage, or the disks of a data server.
struct CollisionColumn {
  uint32_t links = 0;
  uint32_t limit = 0;  // a path is eligible if none of its links has more paths than this
  const uint32_t* standing = nullptr;  // by link: circuits that stand there already; may be null
};

// How many paths a request has, and an integer with one bit for each of them. For two paths the
// number is known to the compiler.
struct TwoPaths {
  using Mask = uint8_t;
  static constexpr int number() { return 2; }
};
struct ManyPaths {
  using Mask = uint16_t;
  int count = 1;  // 1..16
  constexpr int number() const { return count; }
};

struct CollisionOutcome {
  static constexpr uint8_t kLeft = 255;
  std::vector<uint8_t> choice;           // by request: the path's number (0: p, 1: p') or kLeft
  std::vector<uint32_t> rounds_asked;    // by request: rounds in which its paths were active
  std::vector<uint32_t> left_per_round;  // requests without a path after each round
  std::vector<uint32_t> left;            // requests without a path at the end
  uint64_t messages = 0;                 // every active path: one packet forward, one back
};

// Counts all paths of each active request; a count stops at 255.
template <typename Paths, typename LinkOf>
void CountPaths(const Paths paths, const std::vector<uint32_t>& active, const LinkOf link_of,
                uint8_t* count) {
  for (const uint32_t request : active) {
    for (int which = 0; which < paths.number(); ++which) {
      uint8_t& n = count[link_of(request, which)];
      n = static_cast<uint8_t>(n + (n != 255));
    }
  }
}

// Marks the paths whose link in this column is over the limit.
template <typename Paths, typename LinkOf, typename IsOver>
void BlockPathsOver(const Paths paths, const std::vector<uint32_t>& active, const LinkOf link_of,
                    typename Paths::Mask* blocked, const IsOver is_over) {
  for (size_t i = 0; i < active.size(); ++i) {
    unsigned over = 0;
    for (int which = 0; which < paths.number(); ++which) {
      over |= unsigned{is_over(link_of(active[i], which))} << which;
    }
    blocked[i] = static_cast<typename Paths::Mask>(blocked[i] | over);
  }
}

// Bit k is set if count[k] > limit, for `links` <= 64 links.
inline uint64_t BitsOver(const uint8_t* count, uint32_t links, uint32_t limit) {
  uint64_t bits = 0;
  for (uint32_t k = 0; k < links; ++k) bits |= uint64_t{count[k] > limit} << k;
  return bits;
}

// Returns, by request, a mask whose bit w is set if path w crosses a faulty link. tag_of(request,
// w) is the path's tag and input_of(request) its input. The result is empty if there are no faults.
template <typename Paths, typename InputOf, typename TagOf>
std::vector<typename Paths::Mask> BrokenPaths(const Paths paths, const FaultSet* faults,
                                              size_t requests, const InputOf& input_of,
                                              const TagOf& tag_of) {
  std::vector<typename Paths::Mask> broken;
  if (faults == nullptr || faults->empty()) return broken;
  broken.resize(requests);
  for (size_t i = 0; i < requests; ++i) {
    for (int which = 0; which < paths.number(); ++which) {
      const bool whole = faults->IsWhole(input_of(i), tag_of(i, which));
      broken[i] = static_cast<typename Paths::Mask>(broken[i] | unsigned{!whole} << which);
    }
  }
  return broken;
}

// The path of a request that the rounds left without one: the first path that is not broken, or p
// if all are.
template <typename Paths>
int PathOfLeft(const Paths paths, const std::vector<typename Paths::Mask>& broken, size_t request) {
  if (broken.empty()) return 0;
  const int first = std::countr_one(broken[request]);
  return first < paths.number() ? first : 0;
}

// The scratch memory of one worker that looks at a column.
template <typename Mask>
struct CollisionLane {
  std::vector<uint8_t>
      count;  // by link: up to kMaxThreshold + 1, where it stays; 0 between columns
  std::vector<uint64_t> over;  // by link, one bit each: the link is over the limit
  // By place in `active`: bit w is set if path w is not eligible in this round. Valid only if this
  // lane took part in the round.
  std::vector<Mask> blocked;
  uint32_t round = ~0u;
};

// Marks in lane.blocked the paths whose link in this column is over its limit.
template <typename Paths, typename LinkOf>
void BlockPathsOfColumn(const Paths paths, const CollisionColumn& column,
                        const std::vector<uint32_t>& active, const LinkOf link_of,
                        CollisionLane<typename Paths::Mask>& lane) {
  uint8_t* const count = lane.count.data();
  if (column.standing != nullptr) {
    std::transform(column.standing, column.standing + column.links, count,
                   [](uint32_t n) { return static_cast<uint8_t>(std::min(n, 255u)); });
  }
  CountPaths(paths, active, link_of, count);
  const bool sparse = column.standing == nullptr && active.size() * 8 < column.links;
  if (sparse) {
    const uint32_t limit = column.limit;
    BlockPathsOver(paths, active, link_of, lane.blocked.data(),
                   [=](uint32_t link) { return count[link] > limit; });
    for (const uint32_t request : active) {
      for (int which = 0; which < paths.number(); ++which) count[link_of(request, which)] = 0;
    }
    return;
  }
  for (uint32_t word = 0; word * 64 < column.links; ++word) {
    lane.over[word] =
        BitsOver(count + word * size_t{64}, std::min(column.links - word * 64, 64u), column.limit);
  }
  const uint64_t* const bits = lane.over.data();
  BlockPathsOver(paths, active, link_of, lane.blocked.data(),
                 [=](uint32_t link) { return ((bits[link / 64] >> (link % 64)) & 1) != 0; });
  std::fill_n(count, column.links, uint8_t{0});
}

// Gives every active request a path that no lane blocked, and keeps the other requests in `active`,
// in their order. `broken` is the one of RunCollisionRounds.
template <typename Paths>
void SelectPaths(const Paths paths, const std::vector<CollisionLane<typename Paths::Mask>>& lanes,
                 uint32_t round, const typename Paths::Mask* broken, Crew& crew,
                 std::vector<uint32_t>& active, CollisionOutcome& outcome) {
  using Mask = typename Paths::Mask;
  constexpr size_t kPart = 1 << 15;
  std::vector<size_t> left((active.size() + kPart - 1) / kPart);  // by part, at its front
  crew.ForEachPart(active.size(), kPart, [&](int, size_t first, size_t last) {
    size_t kept = first;
    for (size_t i = first; i < last; ++i) {
      Mask blocked = broken == nullptr ? Mask{0} : broken[active[i]];
      for (const CollisionLane<Mask>& lane : lanes) {
        if (lane.round == round) blocked = static_cast<Mask>(blocked | lane.blocked[i]);
      }
      const uint32_t request = active[i];
      ++outcome.rounds_asked[request];
      const int first_free = std::countr_one(blocked);
      if (first_free == paths.number()) {
        active[kept++] = request;
      } else {
        outcome.choice[request] = static_cast<uint8_t>(first_free);
      }
    }
    left[first / kPart] = kept - first;
  });
  size_t all = 0;
  for (size_t part = 0; part < left.size(); ++part) {
    const auto kept = active.begin() + part * kPart;
    if (all != part * kPart) std::copy(kept, kept + left[part], active.begin() + all);
    all += left[part];
  }
  active.resize(all);
}

// Runs until every request has a path, a round selects nothing (no later round will either) or
// `max_rounds` are over. links_of(column) returns a function that maps (request, which) to the link
// that path `which` of the request crosses in that column.
//
// Only active paths are counted. A link with a selected path never again has more than `limit`
// active and selected paths together, so counting the selected paths too would select the same
// (THEORY.md 2.6). The loop goes column by column, so that the counts of one column stay in the
// cache, whatever the size of the network. One bit a link says which links are over the limit,
// because most paths ask and few links are. The crew's workers share the columns of a round, each
// with its own counts, and a path is eligible if no worker blocked it; so the selections do not
// depend on which worker looked. More workers than columns are of little use.
//
// `broken` is null if there are no faults. By request, its bit w is set if path w crosses a faulty
// link. Such a path is active and counted like any other, because its probes cannot know better,
// but it is never eligible.
template <typename Paths, typename LinksOf>
CollisionOutcome RunCollisionRounds(const Paths paths, uint32_t requests,
                                    const std::vector<CollisionColumn>& columns,
                                    uint32_t max_rounds, const typename Paths::Mask* broken,
                                    Crew& crew, const LinksOf& links_of) {
  using Lane = CollisionLane<typename Paths::Mask>;
  uint32_t most_links = 0;
  for (const CollisionColumn& column : columns) most_links = std::max(most_links, column.links);

  CollisionOutcome outcome;
  outcome.choice.assign(requests, CollisionOutcome::kLeft);
  outcome.rounds_asked.assign(requests, 0);
  std::vector<uint32_t> active(requests);
  std::iota(active.begin(), active.end(), 0u);
  std::vector<Lane> lanes(crew.workers());
  for (uint32_t round = 0; !active.empty() && round < max_rounds; ++round) {
    const size_t asking = active.size();
    crew.ForEach(columns.size(), [&](int worker, size_t c) {
      Lane& lane = lanes[worker];
      if (lane.round != round) {
        lane.round = round;
        lane.blocked.assign(asking, 0);
        lane.count.resize(most_links);
        lane.over.resize((most_links + 63) / 64);
      }
      BlockPathsOfColumn(paths, columns[c], active, links_of(c), lane);
    });
    SelectPaths(paths, lanes, round, broken, crew, active, outcome);
    outcome.messages += 2 * static_cast<uint64_t>(paths.number()) * asking;
    outcome.left_per_round.push_back(static_cast<uint32_t>(active.size()));
    if (active.size() == asking) break;
  }
  outcome.left = std::move(active);
  return outcome;
}

}  // namespace bfly::control
