// SPDX-License-Identifier: Apache-2.0
#include "control/controller/plane_events.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "control/events/event_record.h"

namespace bfly::control {

void PlaneEvents::Look(const DataPlane& plane, bool ours, Clock::time_point now) {
  const auto [found, first] = told_.try_emplace(&plane);
  const DataPlane::Known known = plane.known();
  Told& told = found->second;
  LookForEnd(plane.name(), known, now, told);
  LookAtPlane(plane, known, {.ours = ours, .first = first}, told);
  if (!known.reachable) return;
  told.seen_boot_id = known.boot_id;
  LookAtWorkers(plane.name(), known, now, told);
  LookAtPorts(plane.name(), known, told);
}

void PlaneEvents::LookForEnd(const std::string& plane, const DataPlane::Known& known,
                             Clock::time_point now, Told& told) {
  const bool restarted = !told.seen_boot_id.empty() && known.boot_id != told.seen_boot_id;
  // A process that only answers late may run on with all its workers.
  const bool gone = !known.reachable && known.late_looks == 0;
  // A process that has ended takes its workers with it, even if another process has taken its place
  // before this look.
  if ((restarted || gone) && !told.workers_died) {
    std::vector<uint32_t> lost;
    for (const auto& [lcore, worker] : told.workers) lost.push_back(lcore);
    if (!lost.empty()) AddWorkers(plane, v1::WorkersEvent::DIED, v1::Event::ERROR, lost);
    told.workers_died = !lost.empty();
  }
  if (restarted) {
    told.workers.clear();
    told.workers_died = false;
    told.ports.clear();
  }
  if (told.reachable || !known.reachable) return;
  // The same process is reached again. Nobody saw its passes meanwhile.
  for (auto& [lcore, worker] : told.workers) {
    worker.moved = now;
    worker.hung |= told.workers_died;
  }
  told.workers_died = false;
}

void PlaneEvents::KeepOnly(const std::vector<std::shared_ptr<DataPlane>>& planes) {
  std::erase_if(told_, [&](const auto& told) {
    return std::none_of(planes.begin(), planes.end(),
                        [&](const auto& plane) { return plane.get() == told.first; });
  });
}

void PlaneEvents::LookAtPlane(const DataPlane& plane, const DataPlane::Known& known,
                              Standing standing, Told& told) {
  const bool restarted = !told.boot_id.empty() && known.boot_id != told.boot_id;
  const bool is_good = known.reachable && known.in_step;
  const bool was_good = told.reachable && told.in_step;
  const bool made_up = known.reconciled > (restarted ? 0 : told.reconciled);
  const bool same = is_good ? was_good && !restarted && !made_up
                            : known.reachable == told.reachable && !was_good &&
                                  (known.problem == told.problem || !known.reachable);
  v1::Event event;
  v1::DataPlaneEvent& what = *event.mutable_data_plane();
  what.set_data_plane(plane.name());
  what.set_address(plane.address());
  what.set_restarted(restarted);
  if (made_up) what.set_circuits_made_up(known.reconciled - (restarted ? 0 : told.reconciled));
  if (is_good) {
    what.set_change(told.boot_id.empty() ? v1::DataPlaneEvent::UP : v1::DataPlaneEvent::BACK);
    event.set_severity(v1::Event::INFO);
  } else {
    what.set_change(known.reachable ? v1::DataPlaneEvent::OUT_OF_STEP
                                    : v1::DataPlaneEvent::UNREACHABLE);
    what.set_reason(known.problem);
    event.set_severity(standing.ours ? v1::Event::ERROR : v1::Event::INFO);
  }
  told.reachable = known.reachable;
  told.in_step = known.in_step;
  told.problem = known.problem;
  told.reconciled = known.reconciled;
  if (is_good) told.boot_id = known.boot_id;
  if (!same || (standing.first && !is_good)) events_.Add(std::move(event));
}

void PlaneEvents::LookAtWorkers(const std::string& plane, const DataPlane::Known& known,
                                Clock::time_point now, Told& told) {
  std::vector<uint32_t> started, hung, back, ended;
  std::map<uint32_t, Worker> workers;
  for (const v1::AgentWorker& status : known.workers) {
    const auto before = told.workers.find(status.lcore());
    Worker worker = {.passes = status.passes(), .moved = now, .hung = false};
    if (before == told.workers.end() || status.passes() < before->second.passes) {
      started.push_back(status.lcore());
    } else if (before->second.passes == status.passes()) {
      worker.moved = before->second.moved;
      worker.hung = before->second.hung || now - worker.moved >= patience_;
      if (worker.hung && !before->second.hung) hung.push_back(status.lcore());
    } else if (before->second.hung) {
      back.push_back(status.lcore());
    }
    workers[status.lcore()] = worker;
  }
  for (const auto& [lcore, worker] : told.workers) {
    if (workers.count(lcore) == 0) ended.push_back(lcore);
  }
  told.workers = std::move(workers);
  if (!ended.empty()) AddWorkers(plane, v1::WorkersEvent::ENDED, v1::Event::INFO, ended);
  if (!started.empty()) AddWorkers(plane, v1::WorkersEvent::STARTED, v1::Event::INFO, started);
  if (!hung.empty()) AddWorkers(plane, v1::WorkersEvent::HUNG, v1::Event::ERROR, hung);
  if (!back.empty()) AddWorkers(plane, v1::WorkersEvent::BACK, v1::Event::INFO, back);
}

void PlaneEvents::AddWorkers(const std::string& plane, v1::WorkersEvent::Change change,
                             v1::Event::Severity severity, const std::vector<uint32_t>& lcores) {
  v1::Event event;
  event.set_severity(severity);
  v1::WorkersEvent& what = *event.mutable_workers();
  what.set_change(change);
  what.set_data_plane(plane);
  const auto shown = std::min<std::ptrdiff_t>(std::ssize(lcores), kMostInEvent);
  what.mutable_lcores()->Add(lcores.begin(), lcores.begin() + shown);
  what.set_count(lcores.size());
  events_.Add(std::move(event));
}

void PlaneEvents::LookAtPorts(const std::string& plane, const DataPlane::Known& known, Told& told) {
  std::map<std::string, v1::AgentPort> ports;
  for (const v1::AgentPort& now : known.ports) {
    ports[now.name()] = now;
    const auto found = told.ports.find(now.name());
    // A port that is seen for the first time has a link and its device, until the contrary is seen.
    const bool had_device = found == told.ports.end() || found->second.problem().empty();
    const bool had_link = found == told.ports.end() || found->second.link_up();
    const auto add = [&](v1::PortEvent::Change change, v1::Event::Severity severity) {
      v1::Event event;
      event.set_severity(severity);
      v1::PortEvent& what = *event.mutable_port();
      what.set_change(change);
      what.set_data_plane(plane);
      what.set_port(now.name());
      what.set_reason(now.problem());
      events_.Add(std::move(event));
    };
    const bool has_device = now.problem().empty();
    if (had_device && !has_device) add(v1::PortEvent::DEVICE_LOST, v1::Event::ERROR);
    if (!had_device && has_device) add(v1::PortEvent::DEVICE_BACK, v1::Event::INFO);
    // The link of a device that is lost is down, which need not be said too.
    if (!has_device) {
      ports[now.name()].set_link_up(true);
    } else if (had_link && !now.link_up()) {
      add(v1::PortEvent::LINK_DOWN, v1::Event::WARNING);
    } else if (!had_link && now.link_up()) {
      add(v1::PortEvent::LINK_UP, v1::Event::INFO);
    }
  }
  told.ports = std::move(ports);
}

}  // namespace bfly::control
