// SPDX-License-Identifier: Apache-2.0
#include "control/controller/schedule_message.h"

#include <utility>

#include "control/intent/fabric_state.h"
#include "topologies/tag.h"

namespace bfly::control {

v1::AgentScheduleRequest ScheduleMessageOf(uint64_t id, uint32_t version,
                                           const RoutedSchedule& routed, uint32_t rows) {
  v1::AgentScheduleRequest request;
  request.set_id(id);
  request.set_version(version);
  *request.mutable_schedule() = routed.schedule;
  for (const SlotPaths& slot : routed.slots) {
    auto& tags = *request.add_slots()->mutable_tags();
    tags.Resize(static_cast<int>(rows), 0);
    for (const CircuitPath& path : slot.paths) {
      tags.Set(static_cast<int>(path.input), path.tag + 1);
    }
  }
  return request;
}

RoutedSchedule RoutedScheduleOf(const v1::AgentScheduleRequest& held, const FabricState& state) {
  const Network& network = state.network();
  RoutedSchedule routed{.schedule = held.schedule(), .protocol = "", .slots = {}};
  for (const v1::AgentSlot& slot : held.slots()) {
    SlotPaths& paths = routed.slots.emplace_back();
    LinkLoad load = state.load();
    for (int row = 0; row < slot.tags_size(); ++row) {
      if (slot.tags(row) == 0) continue;
      const Tag tag = slot.tags(row) - 1;
      paths.paths.push_back({.input = static_cast<Row>(row),
                             .output = OutputOfTag(network, tag),
                             .tag = tag,
                             .choice = PathChoice::kGiven});
      load.Add(static_cast<Row>(row), tag);
    }
    paths.congestion = load.Congestion();
  }
  routed.protocol = ProtocolOf(held.schedule(), routed.slots, network);
  return routed;
}

v1::Event ScheduleEventOf(v1::ScheduleEvent::Change change, const RoutedSchedule& routed) {
  v1::Event event;
  event.set_severity(v1::Event::INFO);
  v1::ScheduleEvent& what = *event.mutable_schedule();
  what.set_change(change);
  what.set_slots(static_cast<uint32_t>(routed.slots.size()));
  what.set_protocol(routed.protocol);
  return event;
}

}  // namespace bfly::control
