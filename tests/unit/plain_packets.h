// SPDX-License-Identifier: Apache-2.0
// Networks under the virtual clock, and a plain event-driven simulation of the same packets that
// tests compare them with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "dataplane/virtual_clock/virtual_fabric.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

inline constexpr Ticks kTicksOfUnit = Ticks{1} << 32;

inline Network Multibutterfly(uint32_t rows, int multiplicity,
                              PortRule rule = PortRule::kRoundRobin) {
  NetworkSpec spec{
      .kind = NetworkKind::kMultibutterfly, .rows = rows, .seed = 7, .multiplicity = multiplicity};
  if (multiplicity > 1) spec.rule = rule;
  return *Network::Make(spec);
}

inline Network WithExtraStages(uint32_t rows, int extra_stages) {
  return *Network::Make(
      {.kind = NetworkKind::kButterfly, .rows = rows, .extra_stages = extra_stages});
}

inline VirtualConfig ConfigOfNetwork(double rate, double duration) {
  VirtualConfig config;
  config.arrivals.rate = rate;
  config.arrivals.seed = 5;
  config.warmup = duration / 10;
  config.duration = duration;
  return config;
}

inline VirtualResult Carried(const Network& network, const VirtualConfig& config) {
  auto result = RunVirtual(network, config);
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->injected, result->delivered + result->in_flight);
  return *std::move(result);
}

// A packet as the source makes it: when it is born, and where it goes.
struct BornPacket {
  Ticks birth;
  Row row;
  Tag directions;  // one bit a hop
};

inline std::vector<BornPacket> BornBefore(const Network& network, const VirtualConfig& config,
                                          Ticks end) {
  const Ticks slot = config.slots_per_unit == 0 ? 1 : kTicksOfUnit / config.slots_per_unit;
  VirtualSource source(network, config.arrivals,
                       config.fixed.empty()
                           ? DestinationPattern::Flip(network.dimension(), config.flip)
                           : DestinationPattern::Fixed(config.fixed),
                       kTicksOfUnit, slot);
  std::vector<BornPacket> packets;
  std::vector<VirtualPacket> born;
  for (Row row = 0; row < network.rows(); ++row) {
    const size_t count = source.FillRow(row, end, born, 0);
    for (size_t i = 0; i < count; ++i) {
      packets.push_back({born[i].time, row, born[i].word >> (64 - network.hops())});
    }
  }
  return packets;
}

inline Row OutputOf(const Network& network, const BornPacket& packet) {
  return WalkTag(network, packet.row, network.tag_layout().Spread(packet.directions)).back();
}

// What faults leave, by definition and level by level from the outputs: a switch counts as faulty
// if it is down, or if all its links of a direction (before the last log n hops: all its links) are
// down or lead to switches that count as faulty. No output is down here.
struct FaultsByDefinition {
  std::vector<bool> usable;               // links
  std::vector<std::vector<bool>> faulty;  // switches, by level and row
  std::vector<std::vector<bool>>
      reachable;  // by input: outputs; none if the input counts as faulty

  FaultsByDefinition(const Network& network, const FaultSet& faults) {
    const int stages = network.stages(), free = stages - network.dimension();
    usable.assign(network.link_count(), true);
    faulty.assign(static_cast<size_t>(stages) + 1, std::vector<bool>(network.rows()));
    for (int stage = stages - 1; stage >= 0; --stage) {
      for (Row row = 0; row < network.rows(); ++row) {
        int left[2] = {0, 0};
        for (int port = 0; port < network.ports(); ++port) {
          const uint64_t link = network.link_index({stage, row, port});
          const Row next = network.next_row(stage, row, port);
          usable[link] = !faults.blocks(link) && !faulty[stage + 1][next];
          left[network.direction_of(port)] += usable[link];
        }
        const bool stuck = stage < free ? left[0] + left[1] == 0 : left[0] == 0 || left[1] == 0;
        faulty[stage][row] = stuck || faults.is_down(NodeId{stage, row});
      }
    }
    for (Row input = 0; input < network.rows(); ++input) {
      std::vector<bool> at(network.rows());
      at[input] = !faulty[0][input];
      for (int stage = 0; stage < stages; ++stage) {
        std::vector<bool> next(network.rows());
        for (Row row = 0; row < network.rows(); ++row) {
          for (int port = 0; at[row] && port < network.ports(); ++port) {
            if (usable[network.link_index({stage, row, port})]) {
              next[network.next_row(stage, row, port)] = true;
            }
          }
        }
        at = next;
      }
      reachable.push_back(at);
    }
  }
};

struct EventResult {
  uint64_t injected = 0, left_out = 0, measured = 0;
  Ticks delay = 0, longest = 0;
  std::vector<uint64_t> link_packets;  // left in the measured time
};

// One event after the other over the whole network: at every node the departures from its links say
// which of the direction's links the rule takes. A packet that comes over a link of a lower index
// goes first where several come at one time.
inline EventResult RunByEvents(const Network& network, const VirtualConfig& config, Ticks until) {
  struct Event {
    Ticks time;
    uint64_t over;
    int stage;
    Row row;
    size_t packet;
    bool operator>(const Event& other) const {
      return std::tie(time, over) > std::tie(other.time, other.over);
    }
  };
  const FaultSet none(network);
  const FaultsByDefinition around(network, config.faults == nullptr ? none : *config.faults);
  const auto start = static_cast<Ticks>(config.warmup * static_cast<double>(kTicksOfUnit));
  const Ticks end = start + static_cast<Ticks>(config.duration * static_cast<double>(kTicksOfUnit));
  const std::vector<BornPacket> packets = BornBefore(network, config, until);
  EventResult result;
  result.link_packets.resize(network.link_count());
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  for (size_t i = 0; i < packets.size(); ++i) {
    if (around.reachable[packets[i].row][OutputOf(network, packets[i])]) {
      ++result.injected;
      events.push({packets[i].birth, i, 0, packets[i].row, i});
    } else {
      ++result.left_out;
    }
  }
  const int width = network.multiplicity(), free = network.stages() - network.dimension();
  std::vector<std::vector<Ticks>> departures(network.link_count());
  std::vector<int> turns(network.link_count());
  for (; !events.empty(); events.pop()) {
    const Event e = events.top();
    if (e.stage == network.stages()) {
      const Ticks birth = packets[e.packet].birth;
      if (birth < start || birth >= end || e.time >= until) continue;
      ++result.measured;
      result.delay += e.time - birth;
      result.longest = std::max(result.longest, e.time - birth);
      continue;
    }
    const auto index = [&](int port) { return network.link_index({e.stage, e.row, port}); };
    const auto ports_of = [&](int direction) {
      std::vector<int> ports;
      for (int port = width * direction; port < width * (direction + 1); ++port) {
        if (around.usable[index(port)]) ports.push_back(port);
      }
      return ports;
    };
    int direction = packets[e.packet].directions >> (network.stages() - 1 - e.stage) & 1;
    if (ports_of(direction).empty() && e.stage < free) direction = 1 - direction;
    const std::vector<int> ports = ports_of(direction);
    // The departures still to come, the next one first.
    const auto there = [&](int port) {
      std::vector<Ticks> later;
      for (const Ticks at : departures[index(port)]) {
        if (at > e.time) later.push_back(at);
      }
      return later;
    };
    int port = ports.at(0);
    if (network.rule() == PortRule::kRoundRobin) {
      int& turn = turns[index(width * direction)];
      while (std::find(ports.begin(), ports.end(), width * direction + turn) == ports.end()) {
        turn = (turn + 1) % width;
      }
      port = width * direction + turn;
      turn = (turn + 1) % width;
    } else if (network.rule() == PortRule::kFirstFree) {
      const auto is_free = [&](int p) { return there(p).empty(); };
      const auto found = std::find_if(ports.begin(), ports.end(), is_free);
      if (found != ports.end()) port = *found;
    } else if (network.rule() == PortRule::kLeastOccupied) {
      const auto order = [&](int p) {
        const std::vector<Ticks> later = there(p);
        return std::tuple(later.size(), later.empty() ? 0 : later[0], p);
      };
      port = *std::min_element(ports.begin(), ports.end(),
                               [&](int a, int b) { return order(a) < order(b); });
    }
    std::vector<Ticks>& link = departures[index(port)];
    link.push_back(std::max(e.time, link.empty() ? 0 : link.back()) + kTicksOfUnit);
    result.link_packets[index(port)] += link.back() >= start && link.back() < end;
    events.push(
        {link.back(), index(port), e.stage + 1, network.next_row(e.stage, e.row, port), e.packet});
  }
  return result;
}

inline void ExpectAsPlain(const Network& network, const VirtualConfig& config) {
  const VirtualResult run = Carried(network, config);
  const EventResult plain = RunByEvents(
      network, config, static_cast<Ticks>(run.end_time * static_cast<double>(kTicksOfUnit)));
  EXPECT_EQ(run.injected, plain.injected);
  EXPECT_EQ(run.left_out, plain.left_out);
  EXPECT_EQ(run.measured, plain.measured);
  EXPECT_EQ(run.unfinished, 0u);
  EXPECT_EQ(run.link_packets, plain.link_packets);
  EXPECT_EQ(run.max, static_cast<double>(plain.longest) / static_cast<double>(kTicksOfUnit));
  EXPECT_NEAR(run.mean_delay * static_cast<double>(run.measured),
              static_cast<double>(plain.delay) / static_cast<double>(kTicksOfUnit), 1e-5);
}

inline void ExpectSameForAnyWorkers(const Network& network, VirtualConfig config) {
  const VirtualResult one = Carried(network, config);
  config.workers = 3;
  const VirtualResult many = Carried(network, config);
  EXPECT_EQ(one.injected, many.injected);
  EXPECT_EQ(one.link_packets, many.link_packets);
  EXPECT_EQ(one.measured, many.measured);
  EXPECT_EQ(one.mean_delay, many.mean_delay);
  EXPECT_EQ(one.p99, many.p99);
  EXPECT_EQ(one.max, many.max);
  EXPECT_EQ(one.left_out, many.left_out);
  EXPECT_EQ(one.stage_delay, many.stage_delay);
  EXPECT_EQ(one.stages.back().p99, many.stages.back().p99);
  // A window decides when the run ends, and nothing about the packets that are measured.
  config.window = 1.5;
  const VirtualResult cut = Carried(network, config);
  EXPECT_EQ(one.link_packets, cut.link_packets);
  EXPECT_EQ(one.mean_delay, cut.mean_delay);
}

}  // namespace bfly::dataplane
