// SPDX-License-Identifier: Apache-2.0
#include "control/services/link_circuits.h"

#include <algorithm>
#include <utility>

namespace bfly::control {
namespace {

// How many links are read at a time while set-ups wait.
constexpr uint64_t kCircuitsAtOnce = 1 << 17;
// How many lines of the load are read at a time while set-ups wait. A line has the counts of 128
// links.
constexpr uint64_t kLinesAtOnce = 1 << 13;

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

template <typename ReadLines>
absl::Status LinkCircuits::ByLines(ReadLines read) const {
  for (uint64_t line = 0, end = 1; line < end;) {
    const absl::Status status = Read([&](const LinkLoad& load) {
      end = load.lines();
      const uint64_t last = std::min(end, line + kLinesAtOnce);
      read(load, line, last);
      line = last;
    });
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<uint32_t, uint64_t>> LinkCircuits::Count() const {
  std::map<uint32_t, uint64_t> count;
  absl::Status status;
  if (choice_.size() == network_.link_count()) {
    status = ByLines([&](const LinkLoad& load, uint64_t first, uint64_t end) {
      load.CountLinks(first, end, count);
    });
  } else {
    // Few values are large.
    std::vector<uint64_t> low(1024);
    status = ForEach(0, network_.link_count(), [&](uint64_t, uint32_t circuits) {
      if (circuits > 0) ++(circuits < low.size() ? low[circuits] : count[circuits]);
      return true;
    });
    for (size_t circuits = 1; circuits < low.size(); ++circuits) {
      if (low[circuits] > 0) count[static_cast<uint32_t>(circuits)] = low[circuits];
    }
  }
  if (!status.ok()) return status;
  return count;
}

template <typename Visit>
absl::Status LinkCircuits::ForEachWith(uint32_t least, Visit visit) const {
  if (choice_.size() == network_.link_count()) {
    return ByLines([&](const LinkLoad& load, uint64_t first, uint64_t end) {
      const LinkLoad::Loaded loaded = load.LinksWith(first, end, least);
      for (size_t i = 0; i < loaded.links.size(); ++i) visit(loaded.links[i], loaded.circuits[i]);
    });
  }
  return ForEach(0, network_.link_count(), [&](uint64_t index, uint32_t circuits) {
    if (circuits >= least) visit(index, circuits);
    return true;
  });
}

absl::StatusOr<LinkCircuits::Ranking> LinkCircuits::Rank(uint64_t wanted, uint64_t room) const {
  const auto count = Count();
  if (!count.ok()) return count.status();
  // The fewest circuits that one of the first links has. With 0 links without circuits are wanted,
  // too.
  uint32_t least = 0;
  uint64_t reached = 0;
  for (auto it = count->rbegin(); it != count->rend() && least == 0; ++it) {
    reached += it->second;
    if (reached >= wanted) least = it->first;
  }
  Ranking ranking;
  ranking.complete = least > 0 && reached <= room;
  const bool by_level = least > 0 && !ranking.complete;
  if (by_level) ranking.level.assign(network_.link_count() / 8 + 1, '\0');
  const uint32_t first = by_level ? least + 1 : std::max(least, 1u);
  const absl::Status status =
      ForEachWith(std::max(least, 1u), [&](uint64_t index, uint32_t circuits) {
        if (circuits < first) {
          char& byte = ranking.level[index / 8];
          byte = static_cast<char>(byte | 1 << index % 8);
        } else if (ranking.first.size() < room) {
          // More circuits may have been set up meanwhile; otherwise there is room.
          ranking.first.push_back(index);
        }
      });
  if (!status.ok()) return status;
  std::sort(ranking.first.begin(), ranking.first.end());
  return ranking;
}

}  // namespace bfly::control
