// SPDX-License-Identifier: Apache-2.0
// Checks which data plane runs which stage, and the trunks between the data planes.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/topology_file/ranges.h"
#include "control/topology_file/validate_parts.h"

namespace bfly::control::validation {
namespace {

using Ranges = std::vector<Range>;

// A data plane runs a contiguous range of stages, because its counters and trunks are laid out so.
void CheckContiguous(Context& context) {
  for (const auto& [name, plane] : context.data_planes) {
    std::vector<uint32_t> stages;
    for (size_t stage = 0; stage < context.owner.size(); ++stage) {
      if (context.owner[stage] == plane) stages.push_back(stage);
    }
    const std::string field = absl::StrCat("data_planes[", plane, "].name");
    if (stages.empty()) {
      context.Report(field, name,
                     absl::StrCat("no stage is placed on ", name, "; place one or leave it out"));
    } else if (stages.back() - stages.front() + 1 != stages.size()) {
      context.Report(
          "placement", "",
          absl::StrCat(name, " runs stages ", FormatRanges(stages),
                       ", which do not follow one another (allowed: one contiguous range "
                       "for each data plane)"));
    }
  }
}

bool IsOne(const Ranges& ranges) { return ranges.size() == 1 && ranges[0].first == ranges[0].last; }

// "row 3", "rows 0-2,5". Names at most `most` ranges, and then says how many there are.
std::string Text(const Ranges& ranges, absl::string_view one, size_t most = 8) {
  std::vector<std::string> parts;
  for (const Range& range : ranges) {
    if (parts.size() == most) {
      parts.push_back(absl::StrCat("... (", ranges.size(), " ranges)"));
      break;
    }
    parts.push_back(range.first == range.last ? absl::StrCat(range.first)
                                              : absl::StrCat(range.first, "-", range.last));
  }
  return absl::StrCat(one, IsOne(ranges) ? " " : "s ", absl::StrJoin(parts, ","));
}

std::string Is(const Ranges& ranges) { return IsOne(ranges) ? " is" : " are"; }

// Sorts the ranges and joins neighbours.
Ranges Joined(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  Ranges joined;
  for (const Range& range : ranges) {
    if (!joined.empty() && range.first <= uint64_t{joined.back().last} + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

// The numbers that are in both. Both must be joined.
Ranges Common(const Ranges& a, const Ranges& b) {
  Ranges common;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Range both = {std::max(a[i].first, b[j].first), std::min(a[i].last, b[j].last)};
    if (both.first <= both.last) common.push_back(both);
    ++(a[i].last < b[j].last ? i : j);
  }
  return common;
}

// The numbers 0..count-1 that are in none of the ranges, which must be joined.
Ranges Missing(const Ranges& ranges, uint32_t count) {
  Ranges missing;
  uint32_t next = 0;
  for (const Range& range : ranges) {
    if (range.first > next) missing.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next < count) missing.push_back({next, count - 1});
  return missing;
}

// Checks that every row of every stage is placed once, and all rows of a stage on one data plane.
class PlacementCheck {
 public:
  explicit PlacementCheck(Context& context)
      : context_(context),
        rows_of_(context.topology.placement_size()),
        entries_of_(context.owner.size()) {}

  void Run() {
    const v1::Topology& topology = context_.topology;
    understood_ = topology.placement_size() > 0;
    readable_ = understood_;
    for (int i = 0; i < topology.placement_size(); ++i) Place(i);
    if (!context_.network) return;
    // An unreadable entry may be the one that places the missing rows, so nothing is said of them
    // then.
    if (readable_) FindUnplaced();
    context_.placed = understood_;
    if (context_.placed) CheckContiguous(context_);
  }

 private:
  uint32_t rows() const { return context_.network->rows(); }

  // The rows of an entry; all rows if it names none.
  std::optional<Ranges> RowsOf(const std::string& at, const v1::StagePlacement& placement) {
    if (placement.rows().empty()) return Ranges{{0, rows() - 1}};
    const absl::StatusOr<Ranges> ranges = ParseRanges(placement.rows());
    if (!ranges.ok()) return std::nullopt;  // a broken field rule
    if (const absl::Status sound = CheckRanges(*ranges, rows() - 1, "row"); !sound.ok()) {
      context_.Report(at + ".rows", Quotable(placement.rows()), std::string(sound.message()));
      return std::nullopt;
    }
    return Joined(*ranges);
  }

  void Place(int i) {
    const v1::StagePlacement& placement = context_.topology.placement(i);
    const std::string at = absl::StrCat("placement[", i, "]");
    const int plane = context_.FindDataPlane(at + ".data_plane", placement.data_plane(), true);
    const absl::StatusOr<Ranges> stages = ParseRanges(placement.stages());
    understood_ = understood_ && stages.ok() && plane != kNobody;
    readable_ = readable_ && stages.ok();
    if (!context_.network) return;
    const std::optional<Ranges> rows = RowsOf(at, placement);
    understood_ = understood_ && rows.has_value();
    readable_ = readable_ && rows.has_value();
    if (!stages.ok() || !rows) return;
    if (const absl::Status once = CheckRanges(*stages, UINT32_MAX, "stage"); !once.ok()) {
      context_.Report(at + ".stages", Quotable(placement.stages()), std::string(once.message()));
      understood_ = readable_ = false;
      return;
    }
    rows_of_[i] = *rows;
    std::map<int, Ranges> twice;      // stages, by the entry that placed them first
    std::map<int, Ranges> elsewhere;  // the same for an entry on another data plane
    for (const Range& range : *stages) {
      if (range.last >= context_.owner.size()) {
        context_.Report(at + ".stages", Quotable(placement.stages()),
                        absl::StrCat(range.last, " is not a stage of this network (allowed: 0 to ",
                                     context_.owner.size() - 1, ")"));
        understood_ = false;
      }
      for (uint32_t s = range.first; s <= range.last && s < context_.owner.size(); ++s) {
        for (const int other : entries_of_[s]) {
          if (Common(rows_of_[other], *rows).empty()) continue;
          twice[other].push_back({s, s});
          break;
        }
        if (entries_of_[s].empty()) {
          context_.owner[s] = plane;
        } else if (context_.owner[s] != plane && context_.owner[s] != kNobody && plane != kNobody) {
          elsewhere[entries_of_[s].front()].push_back({s, s});
        }
        entries_of_[s].push_back(i);
      }
    }
    if (!twice.empty()) {
      ReportTwice(i, *rows, twice);
    } else if (!elsewhere.empty()) {
      const auto& [other, where] = *elsewhere.begin();
      context_.Report(
          at + ".data_plane", Quotable(placement.data_plane()),
          absl::StrCat(Text(Joined(where), "stage"), ": other rows run on ",
                       context_.topology.placement(other).data_plane(), " by placement[", other,
                       "] (allowed: all rows of a stage on one data plane)"));
      understood_ = false;
    }
  }

  void ReportTwice(int i, const Ranges& rows, const std::map<int, Ranges>& twice) {
    understood_ = false;
    const v1::StagePlacement& placement = context_.topology.placement(i);
    const auto& [other, where] = *twice.begin();
    const Ranges stages = Joined(where);
    const v1::StagePlacement& first = context_.topology.placement(other);
    if (placement.rows().empty() && first.rows().empty()) {
      context_.Report(
          absl::StrCat("placement[", i, "].stages"), Quotable(placement.stages()),
          absl::StrCat(Text(stages, "stage"), Is(stages), " placed twice, first by placement[",
                       other, "].stages (allowed: every stage exactly once)"));
      return;
    }
    const Ranges both = Common(rows_of_[other], rows);
    context_.Report(absl::StrCat("placement[", i, "].rows"), Quotable(placement.rows()),
                    absl::StrCat(Text(both, "row"), " of ", Text(stages, "stage"), Is(both),
                                 " placed twice, first by placement[", other,
                                 "] (allowed: every row of a stage exactly once)"));
  }

  void FindUnplaced() {
    Ranges nowhere;
    std::map<std::string, std::pair<Ranges, Ranges>> partly;  // missing rows and their stages
    for (uint32_t s = 0; s < entries_of_.size(); ++s) {
      Ranges placed;
      for (const int entry : entries_of_[s]) {
        placed.insert(placed.end(), rows_of_[entry].begin(), rows_of_[entry].end());
      }
      if (placed.empty()) {
        nowhere.push_back({s, s});
      } else if (const Ranges missing = Missing(Joined(placed), rows()); !missing.empty()) {
        auto& [rows_missing, stages] = partly[Text(missing, "row", missing.size())];
        rows_missing = missing;
        stages.push_back({s, s});
      }
    }
    understood_ = understood_ && nowhere.empty() && partly.empty();
    if (!nowhere.empty()) {
      const Ranges stages = Joined(nowhere);
      context_.Report("placement", "",
                      absl::StrCat(Text(stages, "stage"), Is(stages),
                                   " placed nowhere (allowed: every stage from 0 to ",
                                   entries_of_.size() - 1, " exactly once)"));
    }
    for (const auto& [all, part] : partly) {
      context_.Report(
          "placement", "",
          absl::StrCat(Text(part.first, "row"), " of ", Text(Joined(part.second), "stage"),
                       Is(part.first), " placed nowhere (allowed: every row from 0 to ", rows() - 1,
                       " of a stage exactly once)"));
    }
  }

  Context& context_;
  std::vector<Ranges> rows_of_;               // by entry, joined; empty if it is unreadable
  std::vector<std::vector<int>> entries_of_;  // by stage
  bool understood_ = false;                   // every stage has an owner, and nothing is wrong
  bool readable_ = false;                     // so far
};

}  // namespace

void CheckPlacement(Context& context) {
  if (context.topology.placement().empty() && context.data_planes.size() > 1) {
    context.Report("placement", "",
                   absl::StrCat("is missing, there are ", context.data_planes.size(),
                                " data planes (allowed: every stage placed on one of ",
                                context.DataPlaneNames(), ")"));
  }
  PlacementCheck(context).Run();
}

void CheckTrunks(Context& context) {
  const v1::Topology& topology = context.topology;
  std::map<uint32_t, int> trunk_after;
  for (int i = 0; i < topology.trunks_size(); ++i) {
    const v1::Trunk& trunk = topology.trunks(i);
    const std::string at = absl::StrCat("trunks[", i, "]");
    const int from = context.FindDataPlane(at + ".from", trunk.from(), false);
    const int to = context.FindDataPlane(at + ".to", trunk.to(), false);
    const uint32_t after = trunk.after_stage();
    if (const auto [first, fresh] = trunk_after.emplace(after, i); !fresh) {
      context.Report(at + ".after_stage", absl::StrCat(after),
                     absl::StrCat("the boundary after stage ", after,
                                  " has a trunk already, trunks[", first->second, "]"));
      continue;
    }
    if (!context.network) continue;
    const uint32_t stages = context.owner.size();
    if (after + 1 >= stages) {
      context.Report(at + ".after_stage", absl::StrCat(after),
                     stages < 2
                         ? "this network has one stage and no boundary"
                         : absl::StrCat(after, " is not a boundary between stages (allowed: 0 to ",
                                        stages - 2, ")"));
      continue;
    }
    if (!context.placed) continue;
    const int sender = context.owner[after];
    const int receiver = context.owner[after + 1];
    if (sender == receiver) {
      context.Report(at + ".after_stage", absl::StrCat(after),
                     absl::StrCat("stages ", after, " and ", after + 1, " both run on ",
                                  context.DataPlaneName(sender), "; no trunk goes between them"));
      continue;
    }
    if (from != kNobody && from != sender) {
      context.Report(at + ".from", Quotable(trunk.from()),
                     absl::StrCat(trunk.from(), " does not run stage ", after,
                                  " (allowed: ", context.DataPlaneName(sender), ")"));
    }
    if (to != kNobody && to != receiver) {
      context.Report(at + ".to", Quotable(trunk.to()),
                     absl::StrCat(trunk.to(), " does not run stage ", after + 1,
                                  " (allowed: ", context.DataPlaneName(receiver), ")"));
    }
  }
  if (!context.placed) return;
  for (uint32_t stage = 0; stage + 1 < context.owner.size(); ++stage) {
    const int sender = context.owner[stage];
    const int receiver = context.owner[stage + 1];
    if (sender == receiver || trunk_after.contains(stage)) continue;
    context.Report(
        "trunks", "",
        absl::StrCat("no trunk carries the boundary after stage ", stage, ", from ",
                     context.DataPlaneName(sender), " to ", context.DataPlaneName(receiver)));
  }
  if (context.network->wrapped() && topology.network().passes() > 1 &&
      context.owner.front() != context.owner.back()) {
    context.Report(
        "network.passes", absl::StrCat(topology.network().passes()),
        absl::StrCat(topology.network().passes(),
                     " passes need all stages on one data plane; a trunk carries one pass"));
  }
}

}  // namespace bfly::control::validation
