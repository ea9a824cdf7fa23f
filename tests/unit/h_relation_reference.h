// SPDX-License-Identifier: Apache-2.0
// The h-relation algorithm as Pietracaprina 1997, section 3, writes it down: buffers one by one,
// splitters one after the other, counters counted anew by looking at the other nodes' buffers.
// Slow. It shares nothing with dataplane/steps/ but the choices where the paper says "any"
// (h_relation_rule.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "topologies/network.h"
#include "topologies/relation.h"

namespace bfly {

struct HRelationReference {
  enum State { kEmpty, kMessage, kGhost, kDead };
  struct Buffer {
    State state = kEmpty;
    uint32_t message = 0;
    int neighbour = -1;  // the row that the buffer is assigned to
    int stamp = 0;       // grows with every message that the node stores
  };
  struct Side {
    uint64_t W = 0;
    bool F = false;
    bool new_flag = false;
    std::vector<int> selected;
    std::vector<Buffer> buffers;

    int Count(State state) const {
      return static_cast<int>(
          std::ranges::count_if(buffers, [&](const Buffer& b) { return b.state == state; }));
    }
  };
  struct Node {
    Side side[2];
    uint64_t g1 = 0;
    uint64_t g2 = 0;
    int stamp = 0;
    int turn = 0;
    int passed = 0;
  };
  using Class = std::tuple<uint32_t, int, uint64_t>;  // splitter, side, W

  const Network& network;
  const Relation& relation;
  const uint32_t N;
  const int columns;  // log N
  const uint64_t R, Z, Y, h;
  const int c0;
  const bool force;
  std::vector<std::vector<Node>> nodes;    // by column and row
  std::map<uint32_t, uint32_t> delivered;  // message -> row
  uint64_t total = 0;
  int stage = 0;
  int stuck = 0;

  HRelationReference(const Network& the_network, const Relation& the_relation, uint64_t the_h,
                     int r, uint32_t l, int z, int y, bool forces, uint32_t wave, uint32_t modulus)
      : network(the_network),
        relation(the_relation),
        N(the_network.rows()),
        columns(the_network.dimension()),
        R(static_cast<uint64_t>(r)),
        Z(static_cast<uint64_t>(z)),
        Y(static_cast<uint64_t>(y)),
        h(std::max(the_h, R)),
        c0(columns - Log(l)),
        force(forces),
        nodes(static_cast<size_t>(columns + 1), std::vector<Node>(the_network.rows())) {
    for (uint32_t row = 0; row < N; ++row) {
      for (uint32_t m = relation.first[row]; m < relation.first[row + 1]; ++m) {
        if (relation.destinations[m] % modulus != wave) continue;
        ++total;
        Node& node = nodes[0][row];
        ++node.passed;
        Buffer buffer{kMessage, m, -1, ++node.stamp};
        if (c0 <= 0) buffer.neighbour = Turn(0, row, Bit(0, m));
        node.side[Bit(0, m)].buffers.push_back(buffer);
      }
      for (Side& side : nodes[0][row].side) side.W = PowerAbove(side.buffers.size());
    }
  }

  static int Log(uint64_t n) {
    int log = 0;
    while (n > 1) n /= 2, ++log;
    return log;
  }
  static uint64_t PowerAbove(uint64_t n) {
    uint64_t power = 1;
    while (!(power > n)) power += power;
    return power;
  }
  static uint64_t Ceil(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

  // The destination's bit that column c sets, the leftmost for c = 0.
  int Bit(int c, uint32_t m) const {
    return static_cast<int>(relation.destinations[m] >> (columns - 1 - c)) & 1;
  }
  std::vector<int> Neighbours(int c, uint32_t r, int side) const {
    std::vector<int> rows;
    const int d = network.ports() / 2;
    for (int port = side * d; port < (side + 1) * d; ++port) {
      const int head = static_cast<int>(network.next_row(c, r, port));
      if (std::ranges::find(rows, head) == rows.end()) rows.push_back(head);
    }
    return rows;
  }
  uint64_t Needed(int c, uint32_t r, int side) const {
    return std::min<uint64_t>(R, Neighbours(c, r, side).size());
  }
  int Turn(int c, uint32_t r, int side) {
    const auto count = static_cast<int>(Needed(c, r, side));
    return Neighbours(c, r,
                      side)[static_cast<size_t>(nodes[static_cast<size_t>(c)][r].turn++ % count)];
  }
  std::vector<Node>& Column(int c) { return nodes[static_cast<size_t>(c)]; }

  void Phase1(int c, int side) {
    std::vector<Node>& inputs = Column(c);
    for (uint32_t r = 0; r < N; ++r) {
      Side& s = inputs[r].side[side];
      s.new_flag = false;
      if (s.F || s.W > h) continue;
      const std::vector<int> all = Neighbours(c, r, side);
      s.selected.assign(all.begin(), all.begin() + static_cast<long>(Needed(c, r, side)));
      s.F = s.new_flag = true;
    }
    // By output and W: who asks in the last iteration, and the largest batch among them.
    std::map<int, std::map<uint64_t, std::set<uint32_t>>> asked;
    std::map<int, std::map<uint64_t, uint64_t>> batch;
    for (uint64_t z = 0; z < Z; ++z) {
      asked.clear();
      batch.clear();
      std::map<Class, std::vector<uint32_t>> classes;
      for (uint32_t r = 0; r < N; ++r) {
        const Side& s = inputs[r].side[side];
        if (s.F) continue;
        classes[{r / (N >> c), side, s.W}].push_back(r);
        for (const int to : Neighbours(c, r, side)) {
          asked[to][s.W].insert(r);
          uint64_t& largest = batch[to][s.W];
          largest = std::max(largest, Ceil(s.W, Needed(c, r, side)));
        }
      }
      for (const auto& [key, members] : classes) {
        bool any = false;
        for (const uint32_t r : members) {
          Side& s = inputs[r].side[side];
          std::vector<int> grants;
          for (const int to : Neighbours(c, r, side)) {
            if (asked[to][s.W].size() == 1) grants.push_back(to);
          }
          if (grants.size() < Needed(c, r, side)) continue;
          grants.resize(Needed(c, r, side));
          s.selected = grants;
          s.F = s.new_flag = any = true;
        }
        if (any) continue;
        ++stuck;
        if (!force) continue;
        for (const uint32_t r : members) {
          Side& s = inputs[r].side[side];
          s.selected = Neighbours(c, r, side);
          s.selected.resize(Needed(c, r, side));
          s.F = s.new_flag = true;
        }
      }
    }
    for (uint32_t r = 0; r < N; ++r) {
      Side& s = inputs[r].side[side];
      if (!s.new_flag) continue;
      std::vector<Buffer*> live;
      for (Buffer& b : s.buffers) {
        if (b.state == kMessage || b.state == kGhost) live.push_back(&b);
      }
      std::ranges::stable_sort(live, [](const Buffer* a, const Buffer* b) {
        if (a->state != b->state) return a->state == kMessage;
        return a->state == kMessage && a->stamp < b->stamp;
      });
      for (size_t i = 0; i < live.size(); ++i) {
        live[i]->neighbour = s.selected[i % s.selected.size()];
      }
    }
    for (uint32_t r = 0; r < N; ++r) {
      if (static_cast<int>(r >> (columns - 1 - c)) % 2 != side) continue;
      Node& output = Column(c + 1)[r];
      output.g1 = 0;
      const int to = static_cast<int>(r);
      for (const auto& [W, who] : asked[to]) {
        if (std::ranges::any_of(who, [&](uint32_t w) { return !inputs[w].side[side].F; })) {
          output.g1 += batch[to][W];
        }
      }
      if (c != stage) continue;
      const uint64_t ghosts = output.g1 + Assigned(c, side, to, true);
      for (Side& s : output.side) {
        s.buffers.assign(c + 1 < c0 ? ghosts : 0, Buffer{kGhost, 0, -1, 0});
      }
    }
  }

  // Live full buffers of column c that are assigned to a row, or the ghosts among them.
  uint64_t Assigned(int c, int side, int to, bool messages_too) {
    uint64_t count = 0;
    for (const Node& input : Column(c)) {
      for (const Buffer& b : input.side[side].buffers) {
        if (b.neighbour != to) continue;
        count += b.state == kGhost || (messages_too && b.state == kMessage);
      }
    }
    return count;
  }

  // The neighbour with the most ghosts: the first of them, or the last.
  static int MostGhosts(const Side& s, bool last) {
    int most = -1;
    int best = -1;
    for (const int to : s.selected) {
      int count = 0;
      for (const Buffer& b : s.buffers) count += b.state == kGhost && b.neighbour == to;
      if (count > best || (last && count == best)) {
        best = count;
        most = to;
      }
    }
    return most;
  }

  void Store(int c, uint32_t r, uint32_t message) {
    Node& node = Column(c)[r];
    ++node.passed;
    if (c == columns) {
      delivered[message] = r;
      return;
    }
    Side& s = node.side[Bit(c, message)];
    Buffer stored{kMessage, message, -1, ++node.stamp};
    if (c >= c0) {
      stored.neighbour = Turn(c, r, Bit(c, message));
      s.buffers.push_back(stored);
      return;
    }
    const int of = s.F ? MostGhosts(s, false) : -1;
    for (Buffer& b : s.buffers) {
      if (b.state != kGhost || (s.F && b.neighbour != of)) continue;
      stored.neighbour = b.neighbour;
      b = stored;
      return;
    }
    stored.neighbour = s.F ? s.selected[0] : -1;  // only after classes were forced
    s.buffers.push_back(stored);
  }

  void Substep() {
    struct Sent {
      int c;
      uint32_t to, from;
      int port, stamp;
      uint32_t message;
      auto Key() const { return std::tie(c, to, from, port, stamp); }
    };
    std::vector<Sent> sent;
    for (int c = 0; c <= std::min(stage, columns - 1); ++c) {
      for (uint32_t r = 0; r < N; ++r) {
        for (int side = 0; side < 2; ++side) {
          Side& s = Column(c)[r].side[side];
          if (c < c0 && !s.F) continue;
          for (Buffer& b : s.buffers) {
            if (b.state != kMessage) continue;
            int port = 0;
            while (static_cast<int>(network.next_row(c, r, port)) != b.neighbour) ++port;
            sent.push_back({c, static_cast<uint32_t>(b.neighbour), r, port, b.stamp, b.message});
            b.state = kDead;
          }
        }
      }
    }
    for (int c = 0; c <= std::min(stage, columns - 1); ++c) {
      for (uint32_t r = 0; r < N; ++r) {
        const int side = static_cast<int>(r >> (columns - 1 - c)) % 2;
        Column(c + 1)[r].g2 = Assigned(c, side, static_cast<int>(r), false);
      }
    }
    std::ranges::sort(sent, {}, &Sent::Key);
    for (const Sent& s : sent) Store(s.c + 1, s.to, s.message);
    for (int c = 1; c <= std::min(stage + 1, c0 - 1); ++c) {
      for (Node& node : Column(c)) {
        for (Side& s : node.side) {
          for (int left = s.Count(kGhost) - static_cast<int>(node.g1 + node.g2); left > 0; --left) {
            const int of = s.F ? MostGhosts(s, true) : -1;
            auto b = std::ranges::find_if(s.buffers, [&](const Buffer& x) {
              return x.state == kGhost && (!s.F || x.neighbour == of);
            });
            s.buffers.erase(b);
          }
        }
      }
    }
  }

  void Stage() {
    for (int c = 0; c <= stage && c < c0; ++c) {
      Phase1(c, 0);
      Phase1(c, 1);
    }
    for (uint64_t y = 0; y < Y; ++y) Substep();
    if (stage + 1 < c0) {
      for (Node& node : Column(stage + 1)) {
        for (Side& s : node.side) s.W = PowerAbove(s.buffers.size());
      }
    }
    ++stage;
  }
  bool Done() const { return delivered.size() == total; }
};

}  // namespace bfly
