// SPDX-License-Identifier: Apache-2.0
#include "control/events/event_words.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace bfly::control {
namespace {

// "3 circuits", "1 circuit".
std::string Counted(uint64_t count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}
std::string Because(const std::string& reason) {
  return reason.empty() ? "" : absl::StrCat(": ", reason);
}
// " (17, 18, ...)"
template <class List>
std::string Named(const List& names, uint64_t count) {
  if (names.empty()) return "";
  const bool more = count > static_cast<uint64_t>(names.size());
  return absl::StrCat(" (", absl::StrJoin(names, ", "), more ? ", ..." : "", ")");
}

std::string Words(const v1::TopologyEvent& event) {
  const std::string fabric = absl::StrCat("fabric ", event.fabric());
  const std::string with =
      event.circuits() == 0 ? "" : absl::StrCat(" with ", Counted(event.circuits(), "circuit"));
  switch (event.change()) {
    case v1::TopologyEvent::LOADED:
      return absl::StrCat(fabric, " loaded");
    case v1::TopologyEvent::REPLACED:
      return absl::StrCat(fabric, " loaded in place of ", event.before());
    case v1::TopologyEvent::UNLOADED:
      return absl::StrCat(fabric, " unloaded");
    case v1::TopologyEvent::RESUMED:
      return absl::StrCat(fabric, " resumed", with);
    case v1::TopologyEvent::TAKEN_OVER:
      return absl::StrCat("took over ", fabric);
    case v1::TopologyEvent::RESTORED:
      return absl::StrCat(fabric, " runs again");
    default:
      return absl::StrCat(fabric, Because(event.reason()));
  }
}

std::string Words(const v1::CircuitsEvent& event) {
  std::vector<std::string> parts;
  const auto add = [&](const v1::CircuitCount& circuits, const char* what) {
    if (circuits.count() == 0) return;
    parts.push_back(absl::StrCat(
        parts.empty() ? Counted(circuits.count(), "circuit") : absl::StrCat(circuits.count()), " ",
        what, Named(circuits.ids(), circuits.count())));
  };
  add(event.set_up(), "set up");
  add(event.released(), "released");
  add(event.moved(), "moved");
  add(event.broken(), "broken");
  add(event.mended(), "mended");
  return absl::StrCat(absl::StrJoin(parts, ", "), "; ", event.standing(), " stand");
}

std::string Words(const v1::LinksEvent& event) {
  std::vector<std::string> names;
  for (const v1::LinkRef& link : event.links()) {
    names.push_back(absl::StrCat("link s", link.stage(), " r", link.row(), " p", link.port()));
  }
  for (const v1::NodeRef& node : event.nodes()) {
    names.push_back(absl::StrCat("node l", node.level(), " r", node.row()));
  }
  for (const v1::LinkOverride& change : event.changes()) {
    std::string links =
        absl::StrCat("links of stages ", change.stages().empty() ? "all" : change.stages(),
                     ", rows ", change.rows().empty() ? "all" : change.rows());
    if (change.has_port()) absl::StrAppend(&links, ", port ", change.port());
    names.push_back(std::move(links));
  }
  const uint64_t more = event.count() - std::min<uint64_t>(event.count(), names.size());
  if (more != 0) names.push_back(absl::StrCat(more, " more"));
  const char* what = event.change() == v1::LinksEvent::FAILED     ? " failed"
                     : event.change() == v1::LinksEvent::RESTORED ? " restored"
                                                                  : " changed";
  std::string words = absl::StrCat(absl::StrJoin(names, "; "), what);
  if (!event.data_plane().empty()) {
    absl::StrAppend(&words, " at data plane ", event.data_plane(), " by somebody else");
  }
  return words;
}

std::string Words(const v1::WorkersEvent& event) {
  const bool one = event.count() == 1;
  const std::string workers = absl::StrCat(
      one ? "worker on lcore " : "workers on lcores ", absl::StrJoin(event.lcores(), ", "),
      event.count() > static_cast<uint64_t>(event.lcores_size()) ? ", ..." : "", " of data plane ",
      event.data_plane());
  switch (event.change()) {
    case v1::WorkersEvent::STARTED:
      return absl::StrCat(workers, " started");
    case v1::WorkersEvent::HUNG:
      return absl::StrCat(workers, one ? " has" : " have", " begun no pass for seconds");
    case v1::WorkersEvent::BACK:
      return absl::StrCat(workers, one ? " goes on" : " go on");
    case v1::WorkersEvent::DIED:
      return absl::StrCat(workers, one ? " is" : " are", " lost with the data plane");
    default:
      return absl::StrCat(workers, " ended");
  }
}

std::string Words(const v1::DataPlaneEvent& event) {
  const std::string plane = absl::StrCat("data plane ", event.data_plane());
  const std::string again = event.restarted() ? ", started anew" : "";
  const std::string made_up =
      event.circuits_made_up() == 0
          ? ""
          : absl::StrCat(", ", event.circuits_made_up(), " circuits made up");
  switch (event.change()) {
    case v1::DataPlaneEvent::UP:
      return absl::StrCat(plane, " is up at ", event.address(), made_up);
    case v1::DataPlaneEvent::UNREACHABLE:
      return absl::StrCat(plane, " ",
                          event.reason().empty() ? "cannot be reached" : event.reason());
    case v1::DataPlaneEvent::OUT_OF_STEP:
      return absl::StrCat(plane, again, Because(event.reason()));
    default:
      return absl::StrCat(plane, " is back", again, " and in step", made_up);
  }
}

std::string Words(const v1::PortEvent& event) {
  const std::string port =
      absl::StrCat("port ", event.port(), " of data plane ", event.data_plane());
  switch (event.change()) {
    case v1::PortEvent::LINK_UP:
      return absl::StrCat(port, ": the link is up");
    case v1::PortEvent::LINK_DOWN:
      return absl::StrCat(port, ": the link is down");
    case v1::PortEvent::DEVICE_LOST:
      return absl::StrCat(port, Because(event.reason()));
    case v1::PortEvent::ADDED:
      return absl::StrCat(port, " added");
    case v1::PortEvent::REMOVED:
      return absl::StrCat(port, " removed");
    default:
      return absl::StrCat(port, ": the device is back");
  }
}

std::string Words(const v1::PrimaryEvent& event) {
  if (event.election_id() == 0) {
    return absl::StrCat("nobody is primary any more; ", event.before(), " was");
  }
  std::string words = absl::StrCat("election id ", event.election_id(), " is primary");
  if (event.before() != 0) absl::StrAppend(&words, " in place of ", event.before());
  return words;
}

std::string Words(const v1::ScheduleEvent& event) {
  switch (event.change()) {
    case v1::ScheduleEvent::STARTED:
    case v1::ScheduleEvent::REPLACED:
      return absl::StrCat(
          "schedule of ", Counted(event.slots(), "slot"),
          event.change() == v1::ScheduleEvent::REPLACED ? " replaced the one before" : " started",
          event.protocol().empty() ? "" : ", paths by ", event.protocol());
    case v1::ScheduleEvent::STOPPED:
      return "schedule stopped";
    case v1::ScheduleEvent::REPAIRED:
      return "schedule has new paths around what is down";
    default:
      return "schedule ended with its fabric";
  }
}

std::string Words(const v1::TrafficEvent& event) {
  return absl::StrCat(Counted(event.count(), "source"), Named(event.sources(), event.count()),
                      event.change() == v1::TrafficEvent::STARTED ? " started" : " stopped");
}

std::string Words(const v1::ProgramEvent& event) {
  if (event.change() == v1::ProgramEvent::BEGUN) {
    return absl::StrCat("program ", event.program(), " begun");
  }
  return absl::StrFormat("program %s %s after %.3g s%s", event.program(),
                         event.reason().empty() ? "ended" : "failed", event.seconds(),
                         Because(event.reason()));
}

std::string Words(const v1::StoreEvent& event) {
  return event.kept() ? "what is changed is kept again"
                      : absl::StrCat("what is changed is not kept", Because(event.reason()));
}

}  // namespace

std::string WordsOf(const v1::Event& event) {
  switch (event.what_case()) {
    case v1::Event::kTopology:
      return Words(event.topology());
    case v1::Event::kCircuits:
      return Words(event.circuits());
    case v1::Event::kLinks:
      return Words(event.links());
    case v1::Event::kWorkers:
      return Words(event.workers());
    case v1::Event::kDataPlane:
      return Words(event.data_plane());
    case v1::Event::kPort:
      return Words(event.port());
    case v1::Event::kPrimary:
      return Words(event.primary());
    case v1::Event::kSchedule:
      return Words(event.schedule());
    case v1::Event::kTraffic:
      return Words(event.traffic());
    case v1::Event::kProgram:
      return Words(event.program());
    case v1::Event::kStore:
      return Words(event.store());
    case v1::Event::kNotice:
      return event.notice().text();
    default:
      return "";
  }
}

}  // namespace bfly::control
