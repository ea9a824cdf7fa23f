// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/port_ways.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly::dataplane {
namespace {

absl::StatusOr<std::vector<Segment*>> WaysIn(const HostPortConfig& port, const FabricPlan& plan,
                                             Assembly& assembly) {
  std::set<int> begins;
  for (Row row : port.rows) begins.insert(plan.segment_from(plan.segments[0].first_hop, row));
  const auto only = static_cast<size_t>(*begins.begin());
  std::vector<Segment*> ways;
  for (int worker : plan.PollersOf(port, 0)) {
    const auto receiver = assembly.receivers().find(worker);
    const auto scatters = [&](Row row) { return receiver->second.rows.count(row) != 0; };
    if (begins.size() == 1 && plan.segments[only].worker == worker) {
      ways.push_back(&assembly.hop_segment(only));
    } else if (receiver != assembly.receivers().end() &&
               std::all_of(port.rows.begin(), port.rows.end(), scatters)) {
      ways.push_back(receiver->second.segment);
    } else {
      return absl::FailedPreconditionError(absl::StrCat(
          "rows: lcore ", plan.lcores[static_cast<size_t>(worker)],
          " would receive frames for rows that it does not run at stage 0, and the fabric was "
          "loaded without a way from it to the lcores that do; give each block of rows a port of "
          "its own, or load the topology with this port (bfly up --replace)"));
    }
  }
  return ways;
}

// For each row: the workers at whose egress packets for the row arrive.
std::vector<std::set<int>> WorkersOfEnds(const FabricPlan& plan, const Network& network,
                                         const Assembly& assembly) {
  std::vector<std::set<int>> workers;
  for (const std::vector<int>& led_to : assembly.transmitters()) {
    workers.emplace_back(led_to.begin(), led_to.end());
  }
  for (Row tail = 0; tail < network.rows(); ++tail) {
    for (int port = 0; port < network.ports(); ++port) {
      const Row head = network.next_row(plan.last_stage, tail, port);
      if (!assembly.transmitters()[head].empty()) continue;
      workers[head].insert(plan.worker_of(plan.last_stage, tail));
    }
  }
  return workers;
}

absl::StatusOr<std::vector<PortWays::Out>> WaysOut(const HostPortConfig& port,
                                                   const FabricPlan& plan, const Network& network,
                                                   const Assembly& assembly) {
  std::vector<PortWays::Out> ways;
  if (assembly.transmitters().empty()) return ways;
  const std::vector<std::set<int>> ends = WorkersOfEnds(plan, network, assembly);
  for (Row row : port.rows) {
    for (int worker : ends[row]) {
      auto way = std::find_if(ways.begin(), ways.end(),
                              [&](const PortWays::Out& other) { return other.worker == worker; });
      if (way == ways.end()) {
        const auto queue = static_cast<int>(ways.size());
        way = ways.insert(way, {.worker = worker, .queue = queue, .rows = {}});
      }
      way->rows.push_back(row);
    }
  }
  if (static_cast<int>(ways.size()) <= port.queue_pairs) return ways;
  std::vector<int> lcores;
  for (const PortWays::Out& way : ways) {
    lcores.push_back(plan.lcores[static_cast<size_t>(way.worker)]);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "queue_pairs: ", port.queue_pairs, ", but frames for these rows leave from the lcores ",
      absl::StrJoin(lcores, ", "), ", and each needs a queue pair of its own; give it ",
      ways.size(), ", or give each of these lcores a port of its own"));
}

}  // namespace

absl::StatusOr<PortWays> FindPortWays(const HostPortConfig& port, const FabricPlan& plan,
                                      const Network& network, Assembly& assembly) {
  for (size_t i = 0; i < port.lcores.size(); ++i) {
    if (plan.worker_of_lcore(port.lcores[i]) >= 0) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "lcores[", i, "]: ", port.lcores[i], " runs no worker of this fabric, which runs on the ",
        "lcores ", absl::StrJoin(plan.lcores, ", "), "; name one of them, or none"));
  }
  PortWays ways;
  if (plan.has_first_hop()) {
    absl::StatusOr<std::vector<Segment*>> in = WaysIn(port, plan, assembly);
    if (!in.ok()) return in.status();
    ways.in = *std::move(in);
  }
  absl::StatusOr<std::vector<PortWays::Out>> out = WaysOut(port, plan, network, assembly);
  if (!out.ok()) return out.status();
  ways.out = *std::move(out);
  return ways;
}

std::vector<std::shared_ptr<const void>> Join(HostPort& port, const PortWays& ways,
                                              const Assembly& assembly) {
  std::vector<std::shared_ptr<const void>> old;
  for (const PortWays::Out& way : ways.out) {
    Egress& egress = *assembly.egresses()[static_cast<size_t>(way.worker)];
    old.push_back(egress.AttachLive(way.rows, &port.transmitter(way.queue)));
  }
  for (size_t q = 0; q < ways.in.size(); ++q) {
    old.push_back(ways.in[q]->ChangeInlets({&port.inlet(static_cast<int>(q))}, {}));
  }
  return old;
}

std::vector<std::shared_ptr<const void>> Part(HostPort& port, const Assembly& assembly,
                                              const Workers& workers) {
  std::vector<std::shared_ptr<const void>> old;
  for (int q = 0; q < port.queue_pairs(); ++q) {
    for (const auto& egress : assembly.egresses()) {
      if (egress == nullptr || !egress->Has(&port.transmitter(q))) continue;
      old.push_back(egress->DetachLive(&port.transmitter(q)));
    }
    for (const auto& worker : workers) {
      for (Segment* const segment : worker->segments()) {
        if (!segment->HasInlet(&port.inlet(q))) continue;
        old.push_back(segment->ChangeInlets({}, {&port.inlet(q)}));
      }
    }
  }
  return old;
}

}  // namespace bfly::dataplane
