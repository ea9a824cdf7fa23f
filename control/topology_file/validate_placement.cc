// SPDX-License-Identifier: Apache-2.0
// Which data plane runs which stage, and the trunks between them.
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/topology_file/ranges.h"
#include "control/topology_file/validate_parts.h"

namespace bfly::control::validation {
namespace {

std::string Plural(const std::vector<uint32_t>& stages) {
  return absl::StrCat(stages.size() == 1 ? "stage " : "stages ", FormatRanges(stages),
                      stages.size() == 1 ? " is" : " are");
}

// A data plane runs a contiguous range: its counters and its trunks are laid out so.
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

}  // namespace

void CheckPlacement(Context& context) {
  const v1::Topology& topology = context.topology;
  bool understood = topology.placement_size() > 0;
  std::vector<int> entry_of(context.owner.size(), kNobody);
  for (int i = 0; i < topology.placement_size(); ++i) {
    const v1::StagePlacement& placement = topology.placement(i);
    const std::string at = absl::StrCat("placement[", i, "]");
    const int plane = context.FindDataPlane(at + ".data_plane", placement.data_plane(), true);
    const absl::StatusOr<std::vector<Range>> ranges = ParseRanges(placement.stages());
    understood = understood && ranges.ok() && plane != kNobody;
    if (!ranges.ok() || !context.network) continue;
    std::set<uint32_t> twice;
    for (const Range& range : *ranges) {
      if (range.last >= context.owner.size()) {
        context.Report(at + ".stages", Quotable(placement.stages()),
                       absl::StrCat(range.last, " is no stage of this network (allowed: 0 to ",
                                    context.owner.size() - 1, ")"));
        understood = false;
      }
      for (uint64_t stage = range.first; stage <= range.last && stage < context.owner.size();
           ++stage) {
        if (entry_of[stage] != kNobody) {
          twice.insert(stage);
        } else {
          entry_of[stage] = i;
          context.owner[stage] = plane;
        }
      }
    }
    if (!twice.empty()) {
      const std::vector<uint32_t> stages(twice.begin(), twice.end());
      const int first = entry_of[stages.front()];
      context.Report(at + ".stages", Quotable(placement.stages()),
                     absl::StrCat(Plural(stages), " placed twice, first by placement[", first,
                                  "].stages (allowed: every stage exactly once)"));
      understood = false;
    }
  }
  if (!context.network) return;
  std::vector<uint32_t> nowhere;
  for (size_t stage = 0; stage < entry_of.size(); ++stage) {
    if (entry_of[stage] == kNobody) nowhere.push_back(stage);
  }
  // An entry that cannot be read may be the one that places them.
  bool readable = topology.placement_size() > 0;
  for (const v1::StagePlacement& placement : topology.placement()) {
    readable = readable && ParseRanges(placement.stages()).ok();
  }
  if (readable && !nowhere.empty()) {
    context.Report("placement", "",
                   absl::StrCat(Plural(nowhere), " placed nowhere (allowed: every stage from 0 to ",
                                entry_of.size() - 1, " exactly once)"));
  }
  context.placed = understood && nowhere.empty();
  if (context.placed) CheckContiguous(context);
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
                         : absl::StrCat(after, " is no boundary between stages (allowed: 0 to ",
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
