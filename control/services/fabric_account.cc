// SPDX-License-Identifier: Apache-2.0
#include "control/services/fabric_account.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace bfly::control {
namespace {

// Returns the accounts without the columns of links, which are long and not needed.
v1::AgentCounters WithoutLinks(const v1::AgentCounters& counters) {
  v1::AgentCounters bare;
  bare.set_boot_id(counters.boot_id());
  *bare.mutable_conservation() = counters.conservation();
  bare.set_trunk_in(counters.trunk_in());
  bare.set_trunk_out(counters.trunk_out());
  *bare.mutable_drops() = counters.drops();
  return bare;
}

// The counts of one process only grow.
bool IsNewProcess(const v1::AgentCounters& now, const v1::AgentCounters& before) {
  return now.boot_id() != before.boot_id() ||
         now.conservation().injected() < before.conservation().injected() ||
         now.conservation().delivered() < before.conservation().delivered() ||
         now.trunk_in() < before.trunk_in() || now.trunk_out() < before.trunk_out();
}

void CheckBalance(const Picture::Part& part, Picture& picture) {
  const v1::Conservation& c = part.counters.conservation();
  if (c.injected() + part.counters.trunk_in() ==
      c.delivered() + c.dropped() + c.in_flight() + part.counters.trunk_out()) {
    return;
  }
  picture.problems.push_back(absl::StrCat(
      "data plane ", part.data_plane, ": injected ", c.injected(), " + from trunks ",
      part.counters.trunk_in(), " is not delivered ", c.delivered(), " + dropped ", c.dropped(),
      " + in flight ", c.in_flight(), " + to trunks ", part.counters.trunk_out()));
}

}  // namespace

std::string MemoryProblem(const v1::AgentCounters& counters) {
  for (const v1::DropCount& drop : counters.drops()) {
    if (drop.reason() != "queue_memory") continue;
    // Links and a schedule drop by the same reason.
    return absl::StrCat(drop.packets(),
                        " packets were dropped as queue_memory: the memory set aside for packets "
                        "on links was full (raise data_planes[].queue_memory_mb or give links a "
                        "queue_limit), or as many frames waited for slots of a schedule as may "
                        "(raise its waiting)");
  }
  return "";
}

void FabricAccount::Sum::Add(const v1::AgentCounters& counters) {
  const v1::Conservation& c = counters.conservation();
  injected += c.injected();
  delivered += c.delivered();
  dropped += c.dropped();
  held += c.in_flight();
  trunk_in += counters.trunk_in();
  trunk_out += counters.trunk_out();
  for (const v1::DropCount& drop : counters.drops()) drops[drop.reason()] += drop.packets();
}

void FabricAccount::AddEndedProcess(const Picture::Part& before,
                                    std::chrono::steady_clock::time_point seen_again) {
  past_.Add(before.counters);
  past_.dropped += past_.held;
  past_.drops[kLost] += past_.held;
  past_.held = 0;
  Gap& gap = gaps_[before.data_plane];
  ++gap.processes;
  gap.unseen += seen_again - before.read;
}

v1::Conservation FabricAccount::Close(const std::vector<FinalCounters>& last) {
  Picture picture;
  for (const FinalCounters& plane : last) {
    const auto before = last_.find(plane.data_plane);
    if (plane.counters.ok()) {
      picture.parts.push_back({plane.data_plane, *plane.counters, plane.read});
    } else if (before != last_.end()) {
      AddEndedProcess(before->second, plane.read);
      last_.erase(before);
    } else {
      never_seen_.push_back(
          absl::StrCat("data plane ", plane.data_plane, ": ", plane.counters.status().message()));
    }
  }
  Take(picture);
  // When a receiver is unloaded, what was on the way to it is gone.
  v1::Conservation end = picture.conservation;
  end.set_dropped(end.dropped() + end.in_flight());
  end.set_in_flight(0);
  return end;
}

std::vector<std::string> FabricAccount::Unknown() const {
  std::vector<std::string> unknown;
  for (const auto& [plane, gap] : gaps_) {
    const double seconds = std::chrono::duration<double>(gap.unseen).count();
    unknown.push_back(absl::StrFormat(
        "data plane %s: %d of its processes ended without an account; what passed in the %.1f s "
        "since they were last asked is not known",
        plane, gap.processes, seconds));
  }
  for (const std::string& plane : never_seen_) {
    unknown.push_back(absl::StrCat(plane, "; its figures are not known at all"));
  }
  return unknown;
}

void FabricAccount::Take(Picture& picture) {
  const bool first_look = last_.empty();
  bool restarted = false;
  for (const Picture::Part& part : picture.parts) {
    CheckBalance(part, picture);
    if (const std::string full = MemoryProblem(part.counters); !full.empty()) {
      picture.problems.push_back(absl::StrCat("data plane ", part.data_plane, ": ", full));
    }
    const auto before = last_.find(part.data_plane);
    if (before != last_.end() && IsNewProcess(part.counters, before->second.counters)) {
      AddEndedProcess(before->second, part.read);
      restarted = true;
    }
    last_[part.data_plane] = {part.data_plane, WithoutLinks(part.counters), part.read};
  }
  Sum all = past_;
  for (const Picture::Part& part : picture.parts) all.Add(part.counters);

  const uint64_t left = all.trunk_in + lost_on_trunks_;
  if (all.trunk_out < left) {
    // Some packets that were given up arrived after all.
    const uint64_t arrived = std::min(left - all.trunk_out, lost_on_trunks_);
    lost_on_trunks_ -= arrived;
    const uint64_t unsent = left - all.trunk_out - arrived;
    if (unsent > 0 && gaps_.empty() && !first_look) {
      picture.problems.push_back(
          absl::StrCat("trunks gave ", all.trunk_in, " packets and were given ", all.trunk_out));
    } else {
      // A process that is gone had sent them after the last look at it, or before the first look at
      // all. So it had taken in as many.
      for (Sum* sum : {&past_, &all}) {
        sum->injected += unsent;
        sum->trunk_out += unsent;
      }
    }
  }
  uint64_t on_trunks = all.trunk_out - std::min(all.trunk_out, all.trunk_in + lost_on_trunks_);
  if (restarted) {
    lost_on_trunks_ += on_trunks;
    on_trunks = 0;
  }
  if (lost_on_trunks_ > 0) all.drops[kLost] += lost_on_trunks_;
  picture.conservation.set_injected(all.injected);
  picture.conservation.set_delivered(all.delivered);
  picture.conservation.set_dropped(all.dropped + lost_on_trunks_);
  picture.conservation.set_in_flight(all.held + on_trunks);
  picture.drops = std::move(all.drops);
}

}  // namespace bfly::control
