// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/rounds.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "dataplane/virtual_clock/delay_histogram.h"
#include "dataplane/virtual_clock/server_network.h"
#include "dataplane/virtual_clock/servers.h"
#include "dataplane/virtual_clock/source.h"
#include "topologies/random.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

constexpr Ticks kUnit = Ticks{1} << 32;

constexpr double kLongestStep = 0x1p29;  // units: half of kFar

double Units(Ticks ticks) { return static_cast<double>(ticks) / kUnit; }
Ticks ToTicks(double units) { return static_cast<Ticks>(std::llround(units * kUnit)); }

// The links, empty between rounds.
class Rounds {
 public:
  explicit Rounds(const Network& network)
      : network_(network),
        servers_(network, LinkModel::kEdge, FifoServer(kUnit)),
        nodes_(network.rows()) {}

  void Release(Row row, Job job, Ticks now) {
    job.time = now;
    nodes_[row].push_back(job);
  }
  // Calls arrived(job) for every packet released, and returns when the last one arrives: `now` if
  // no packet was released or all were at their destinations.
  template <typename Arrived>
  Ticks Run(Ticks now, Arrived&& arrived) {
    servers_.RunWindow(nodes_, kNever,
                       [](int, size_t, std::span<const Job>, std::span<const Job>) {});
    Ticks end = now;
    for (std::vector<Job>& jobs : nodes_) {
      for (const Job& job : jobs) {
        end = std::max(end, job.time);
        arrived(job);
      }
      jobs.clear();
    }
    return end;
  }

  double FullRound(double flip, uint64_t seed, uint64_t rounds) {
    Ticks now = 0;
    for (uint64_t round = 0; round < rounds; ++round) {
      for (Row row = 0; row < network_.rows(); ++row) {
        const Row to = row ^ Flips(flip, seed, uint64_t{row} << 40 | round);
        Release(row, {0, 0, ToWire(GreedyTag(network_, row, to), network_.hops())}, now);
      }
      now = Run(now, [](const Job&) {});
    }
    return Units(now) / static_cast<double>(rounds);
  }

 private:
  // Every bit is one with probability `flip`.
  Row Flips(double flip, uint64_t seed, uint64_t counter) const {
    Row bits = 0;
    for (int bit = 0; bit < network_.dimension(); ++bit) {
      const uint32_t word = RandomBlock(seed, RandomStream::kRounds, counter,
                                        static_cast<uint32_t>(bit / 4))[bit % 4];
      if (word < flip * 0x1p32) bits |= Row{1} << bit;
    }
    return bits;
  }

  const Network& network_;
  ServerNetwork<FifoServer> servers_;
  std::vector<std::vector<Job>> nodes_;
};

// The packets that the rows have generated and not sent.
class Waiting {
 public:
  Waiting(const Network& network, const VirtualConfig& config)
      : source_(network, config.arrivals,
                DestinationPattern::Flip(network.dimension(), config.flip), kUnit, 1),
        queues_(network.rows()),
        start_(ToTicks(config.warmup)),
        end_(start_ + ToTicks(config.duration)),
        step_(ToTicks(std::clamp(4 / config.arrivals.rate, 1.0, kLongestStep))) {}

  // Makes sure that all packets born until `now` are known.
  void KnowUntil(Ticks now) {
    while (known_ <= now) {
      known_ += step_;
      for (Row row = 0; row < queues_.size(); ++row) {
        const size_t count = source_.FillRow(row, known_, born_, 0);
        generated_ += count;
        for (size_t i = 0; i < count; ++i) {
          const Ticks birth = born_[i].time;
          queues_[row].push({birth, birth, born_[i].word});
          born_measured_ += birth >= start_ && birth < end_;
        }
      }
    }
  }
  // The first birth of a packet that is not sent.
  Ticks NextBirth() {
    for (;; KnowUntil(known_)) {
      Ticks first = kNever;
      for (JobQueue<Job>& queue : queues_) {
        if (!queue.empty()) first = std::min(first, queue.front().birth);
      }
      // A row without a packet has none before known_.
      if (first < known_) return first;
    }
  }
  JobQueue<Job>& of(Row row) { return queues_[row]; }

  uint64_t generated() const { return generated_; }
  // How many known packets were born in the measured time.
  uint64_t born_measured() const { return born_measured_; }
  Ticks start() const { return start_; }  // of the measured time
  Ticks end() const { return end_; }

 private:
  VirtualSource source_;
  std::vector<VirtualPacket> born_;
  std::vector<JobQueue<Job>> queues_;
  uint64_t generated_ = 0;
  uint64_t born_measured_ = 0;
  const Ticks start_;
  const Ticks end_;
  const Ticks step_;
  Ticks known_ = 0;
};

// Measures packets born in [start, end).
class RoundsRecord {
 public:
  RoundsRecord(Ticks start, Ticks end, int batches)
      : start_(start), end_(end), batch_length_((end - start + batches - 1) / batches) {
    run_.batches.resize(batches);
  }

  void Arrived(const Job& job) {
    ++run_.delivered;
    delivered_then_ += job.time >= start_ && job.time < end_;
    const Ticks from = std::max(job.birth, start_), until = std::min(job.time, end_);
    if (from < until) inside_ += Units(until - from);
    if (job.birth < start_ || job.birth >= end_) return;
    const Ticks delay = job.time - job.birth;
    DelayBatch& batch = run_.batches[(job.birth - start_) / batch_length_];
    ++batch.packets;
    batch.delay_sum += Units(delay);
    longest_ = std::max(longest_, delay);
    delays_.Add(delay);
    ++run_.measured;
  }
  uint64_t measured() const { return run_.measured; }

  VirtualResult Report(uint64_t generated, uint64_t born_measured, Row rows) {
    run_.injected = generated;
    run_.in_flight = generated - run_.delivered;
    run_.unfinished = born_measured - run_.measured;
    run_.mean_population = inside_ / Units(end_ - start_);
    const double row_time = rows * Units(end_ - start_);
    run_.offered = static_cast<double>(born_measured) / row_time;
    run_.accepted = static_cast<double>(delivered_then_) / row_time;
    run_.max = Units(longest_);
    if (run_.measured == 0) return run_;
    for (const DelayBatch& batch : run_.batches) run_.mean_delay += batch.delay_sum;
    run_.mean_delay /= static_cast<double>(run_.measured);
    run_.p50 = Units(delays_.Quantile(0.5));
    run_.p99 = Units(delays_.Quantile(0.99));
    return run_;
  }

 private:
  const Ticks start_;
  const Ticks end_;
  const Ticks batch_length_;
  VirtualResult run_;
  DelayHistogram delays_;
  Ticks longest_ = 0;
  uint64_t delivered_then_ = 0;
  // The part of the measured time that packets were inside, summed over the packets.
  double inside_ = 0;
};

}  // namespace

absl::StatusOr<RoundsResult> RunRounds(const Network& network, const VirtualConfig& config,
                                       uint64_t full_rounds) {
  if (absl::Status status = CheckVirtual(network, config); !status.ok()) return status;
  if (full_rounds == 0) return absl::InvalidArgumentError("full_rounds: 0 is below 1");
  if (config.faults != nullptr) {
    return absl::InvalidArgumentError("faults: packets in rounds know of none");
  }
  RoundsResult result;
  result.full_round = Rounds(network).FullRound(config.flip, config.arrivals.seed, full_rounds);

  Waiting waiting(network, config);
  RoundsRecord record(waiting.start(), waiting.end(), config.batches);
  Rounds rounds(network);
  uint64_t measured_rounds = 0;
  Ticks now = 0, round_time = 0;
  while (now < 2 * waiting.end() &&
         (now < waiting.end() || record.measured() < waiting.born_measured())) {
    now = std::max(now, waiting.NextBirth());
    waiting.KnowUntil(now);
    for (Row row = 0; row < network.rows(); ++row) {
      JobQueue<Job>& queue = waiting.of(row);
      if (queue.empty() || queue.front().birth > now) continue;
      rounds.Release(row, queue.front(), now);
      queue.pop();
    }
    const Ticks end = rounds.Run(now, [&](const Job& job) { record.Arrived(job); });
    ++result.rounds;
    if (now >= waiting.start() && now < waiting.end()) {
      ++measured_rounds;
      round_time += end - now;
    }
    now = end;
  }
  result.run = record.Report(waiting.generated(), waiting.born_measured(), network.rows());
  result.run.end_time = Units(now);
  if (measured_rounds > 0) {
    result.mean_round = Units(round_time) / static_cast<double>(measured_rounds);
  }
  return result;
}

}  // namespace bfly::dataplane
