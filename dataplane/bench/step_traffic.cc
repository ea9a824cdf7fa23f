// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/step_traffic.h"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "topologies/random.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

double ThreadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Packet {
  WireTag tag;
  uint64_t time;
  uint32_t bytes;
};

// A textbook queue: a ring that doubles when it is full.
class LinkQueue {
 public:
  bool empty() const { return head_ == tail_; }
  void Push(const Packet& packet) {
    if (tail_ - head_ == slots_.size()) Grow();
    slots_[tail_++ & (slots_.size() - 1)] = packet;
  }
  Packet Pop() { return slots_[head_++ & (slots_.size() - 1)]; }

 private:
  void Grow() {
    std::vector<Packet> larger(std::max<size_t>(4, 2 * slots_.size()));
    for (uint64_t i = head_; i < tail_; ++i) larger[i - head_] = slots_[i & (slots_.size() - 1)];
    tail_ -= head_;
    head_ = 0;
    slots_ = std::move(larger);
  }

  std::vector<Packet> slots_;
  uint64_t head_ = 0, tail_ = 0;
};

}  // namespace

StepTraffic DrawStepTraffic(const Network& network, double load, uint32_t packets, uint64_t seed) {
  const double per_step = load * network.rows();
  const uint64_t steps = std::max<uint64_t>(1, static_cast<uint64_t>(packets / per_step));
  // A word below the threshold injects; at load 1 every word does.
  const uint64_t threshold = static_cast<uint64_t>(load * 4294967296.0);
  StepTraffic traffic;
  for (uint64_t step = 0; step < steps; ++step) {
    for (Row row = 0; row < network.rows(); ++row) {
      const PhiloxBlock words =
          RandomBlock(seed, RandomStream::kTraffic, step * network.rows() + row);
      if (words[0] >= threshold) continue;
      traffic.packets.push_back({.input = row, .output = words[1] >> (32 - network.dimension())});
    }
    traffic.step_end.push_back(static_cast<uint32_t>(traffic.packets.size()));
  }
  return traffic;
}

LoopSpeed MeasurePlainLoop(const Network& network, const StepTraffic& traffic, double seconds) {
  const int stages = network.stages();
  const uint32_t links_a_stage = network.rows() * static_cast<uint32_t>(network.ports());
  std::vector<LinkQueue> queues(network.link_count());
  std::vector<uint64_t> packets(network.link_count());
  std::vector<uint64_t> bytes(network.link_count());
  uint64_t hops = 0, timed_steps = 0;
  const auto enter = [&](int stage, Row row, Packet packet) {
    const int port = static_cast<int>(packet.tag >> 63);
    packet.tag <<= 1;
    queues[network.link_index({stage, row, port})].Push(packet);
  };

  size_t step = 0;
  const uint64_t warm_up = 2 * static_cast<uint64_t>(stages);
  double cpu_start = 0;
  auto start = std::chrono::steady_clock::now();
  std::chrono::duration<double> elapsed{};
  for (uint64_t now = 0;; ++now) {
    if (now == warm_up) {
      hops = 0;
      cpu_start = ThreadCpuSeconds();
      start = std::chrono::steady_clock::now();
    }
    uint32_t i = step == 0 ? 0 : traffic.step_end[step - 1];
    for (; i < traffic.step_end[step]; ++i) {
      const StepTraffic::Packet& p = traffic.packets[i];
      enter(0, p.input,
            {ToWire(GreedyTag(network, p.input, p.output), network.tag_layout().bits()), now, 64});
    }
    step = step + 1 == traffic.step_end.size() ? 0 : step + 1;
    // The last stage comes first, so that a packet crosses one link in each step.
    for (int stage = stages - 1; stage >= 0; --stage) {
      for (uint32_t l = 0; l < links_a_stage; ++l) {
        const uint64_t link = static_cast<uint64_t>(stage) * links_a_stage + l;
        if (queues[link].empty()) continue;
        const Packet packet = queues[link].Pop();
        ++packets[link];
        bytes[link] += packet.bytes;
        ++hops;
        if (stage + 1 < stages) {
          enter(stage + 1, network.next_row(stage, l / 2, static_cast<int>(l & 1)), packet);
        }
      }
    }
    if (now < warm_up || (now & 15) != 0) continue;
    timed_steps = now + 1 - warm_up;
    elapsed = std::chrono::steady_clock::now() - start;
    if (elapsed.count() >= seconds) break;
  }
  const double all = static_cast<double>(hops);
  return {.hops_per_second = all / elapsed.count(),
          .hops_per_cpu_second = all / (ThreadCpuSeconds() - cpu_start),
          .hops_per_step = all / static_cast<double>(timed_steps)};
}

}  // namespace bfly::dataplane
