// SPDX-License-Identifier: Apache-2.0
#include "control/services/link_circuits.h"

#include <algorithm>
#include <map>
#include <utility>

namespace bfly::control {
namespace {

// Links whose circuits are read while set-ups wait.
constexpr uint64_t kCircuitsAtOnce = 1 << 17;
// Links that are remembered so that one look at all of them is enough, 16 bytes each.
constexpr size_t kKept = 1 << 20;

}  // namespace

absl::Status LinkCircuits::Read(const std::function<void(const LinkLoad&)>& read) const {
  bool replaced = false;
  const absl::Status status = controller_.Read([&](const FabricState& state) {
    replaced = &state.network() != &network_;
    if (!replaced) read(state.load());
  });
  if (!replaced) return status;
  return absl::AbortedError("another fabric was loaded while links were read; ask again");
}

template <typename Visit>
absl::Status LinkCircuits::ForEach(uint64_t begin, uint64_t end, Visit visit) const {
  const auto ports = static_cast<uint64_t>(network_.ports());
  bool more = true;
  while (more) {
    const absl::Status status = Read([&](const LinkLoad& load) {
      uint64_t looked = 0;
      while (more && looked < kCircuitsAtOnce) {
        const LinkChoice::Run run = choice_.RunFrom(begin);
        const uint64_t run_end = std::min({run.end, end, run.first + (kCircuitsAtOnce - looked)});
        more = run.first < run_end;
        LinkId link = more ? network_.link_at(run.first) : LinkId{};
        for (uint64_t index = run.first; more && index < run_end; ++index) {
          if (choice_.all_ports() || choice_.HasPort(index)) {
            more = visit(index, load.on(link));
          }
          if (static_cast<uint64_t>(++link.port) < ports) continue;
          link.port = 0;
          ++link.row;
        }
        looked += run_end - std::min(run.first, run_end);
        begin = std::max(begin, run_end);
      }
    });
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint64_t>> LinkCircuits::Find(uint64_t begin, uint64_t end,
                                                         uint64_t most) const {
  std::vector<uint64_t> indexes;
  const absl::Status status = ForEach(begin, end, [&](uint64_t index, uint32_t circuits) {
    if (circuits > 0) indexes.push_back(index);
    return indexes.size() < most;
  });
  if (!status.ok()) return status;
  return indexes;
}

absl::StatusOr<LinkCircuits::Ranking> LinkCircuits::Rank(uint64_t wanted, uint64_t room) const {
  const uint64_t all = network_.link_count();
  // How many links have so many circuits: few values are large.
  std::vector<uint64_t> low(1024);
  std::map<uint32_t, uint64_t> high;
  std::vector<std::pair<uint64_t, uint32_t>> found;  // the first links that have circuits
  bool found_all = true;
  absl::Status status = ForEach(0, all, [&](uint64_t index, uint32_t circuits) {
    if (circuits == 0) return true;
    ++(circuits < low.size() ? low[circuits] : high[circuits]);
    found_all = found_all && found.size() < kKept;
    if (found_all) found.emplace_back(index, circuits);
    return true;
  });
  if (!status.ok()) return status;
  for (size_t circuits = 1; circuits < low.size(); ++circuits) {
    if (low[circuits] > 0) high[static_cast<uint32_t>(circuits)] = low[circuits];
  }
  // The fewest circuits that a link among the first ones has; 0: also links without any are wanted.
  uint32_t least = 0;
  uint64_t reached = 0;
  for (auto it = high.rbegin(); it != high.rend() && least == 0; ++it) {
    reached += it->second;
    if (reached >= wanted) least = it->first;
  }
  Ranking ranking;
  ranking.complete = least > 0 && reached <= room;
  const bool by_level = least > 0 && !ranking.complete;
  if (by_level) ranking.level.assign(all / 8 + 1, '\0');
  const uint32_t first = by_level ? least + 1 : std::max(least, 1u);
  const auto rank = [&](uint64_t index, uint32_t circuits) {
    if (circuits >= first) {
      ranking.first.push_back(index);
    } else if (by_level && circuits == least) {
      char& byte = ranking.level[index / 8];
      byte = static_cast<char>(byte | 1 << index % 8);
    }
    return ranking.first.size() < room;
  };
  if (!found_all) {
    status = ForEach(0, all, rank);
  } else {
    for (const auto& [index, circuits] : found) {
      if (!rank(index, circuits)) break;
    }
  }
  if (!status.ok()) return status;
  return ranking;
}

}  // namespace bfly::control
