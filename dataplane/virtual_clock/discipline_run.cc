// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/discipline_run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dataplane/virtual_clock/class_source.h"
#include "dataplane/virtual_clock/link_occupancy.h"
#include "dataplane/virtual_clock/priority_block.h"
#include "dataplane/virtual_clock/server_network.h"
#include "dataplane/virtual_clock/servers.h"
#include "dataplane/virtual_clock/sharing_lane.h"
#include "topologies/crew.h"
#include "topologies/tag.h"
#include "topologies/usable_links.h"

namespace bfly::dataplane {
namespace {

// Which links packets take and which packets are sent if switches are faulty.
class AroundFaults {
 public:
  AroundFaults(const Network& network, const FaultSet* faults) : network_(network) {
    if (faults != nullptr) faulty_.emplace(*faults);
  }

  // One entry for each link; empty if there are no faults.
  std::vector<bool> Usable() const {
    return faulty_.has_value() ? UsableLinks(network_, *faulty_) : std::vector<bool>();
  }
  bool Sends(Row row, PacketWord word) const {
    if (!faulty_.has_value()) return true;
    const uint64_t directions = word >> (64 - network_.hops());
    const Row output = OutputOfTag(network_, network_.tag_layout().Spread(directions));
    return !faulty_->counts(0, row) && faulty_->reached()[output];
  }

 private:
  const Network& network_;
  std::optional<FaultySwitches> faulty_;
};

// The measurements, over packets born in [start, end). Each worker adds up the packets that it
// serves.
class DisciplineRecord {
 public:
  DisciplineRecord(const Network& network, const VirtualConfig& config, const RunTimes& times,
                   int workers)
      : network_(network),
        links_(config.links),
        times_(times),
        batch_length_((times.end - times.start + config.batches - 1) / config.batches),
        batches_(config.batches),
        served_(static_cast<size_t>(workers), Served(network.stages())),
        class_sums_(std::max<size_t>(1, config.class_shares.size())),
        link_packets_(network.link_count()),
        occupancy_(config.occupancy ? network.link_count() : 0, times.start, times.end) {}

  bool Measures(const Job& job) const {
    return job.birth >= times_.start && job.birth < times_.end;
  }

  void Add(int worker, int stage, size_t link, std::span<const Job> arrivals,
           std::span<const Job> left) {
    Served& served = served_[static_cast<size_t>(worker)];
    served.hops += arrivals.size();
    const size_t index = network_.link_index({stage, 0, 0}) + link;
    for (const Job& job : left) {
      link_packets_[index] += job.time >= times_.start && job.time < times_.end;
    }
    if (occupancy_.links() > 0) occupancy_.Add(index, arrivals, left);
    for (const Job& job : left) {
      if (!Measures(job)) continue;
      ++served.sums[stage].packets;
      served.sums[stage].delay += job.time - job.entered;
      served.delays[stage].Add(job.time - job.entered);
    }
  }

  void Delivered(std::span<const Job> jobs) {
    delivered_ += jobs.size();
    for (const Job& job : jobs) {
      if (!Measures(job)) continue;
      const Ticks delay = job.time - job.birth;
      ++measured_;
      delays_.Add(delay);
      max_delay_ = std::max(max_delay_, delay);
      for (Sum* sum :
           {&batches_[(job.birth - times_.start) / batch_length_], &class_sums_[job.priority]}) {
        ++sum->packets;
        sum->delay += delay;
      }
    }
  }

  uint64_t delivered() const { return delivered_; }
  uint64_t measured() const { return measured_; }

  void Report(VirtualResult& result) {
    const double unit = static_cast<double>(times_.unit);
    const auto units = [unit](TickSum ticks) { return static_cast<double>(ticks) / unit; };
    double delay = 0;
    for (const Sum& batch : batches_) {
      result.batches.push_back({batch.packets, units(batch.delay)});
      delay += units(batch.delay);
    }
    result.delivered = delivered_;
    result.measured = measured_;
    result.max = units(max_delay_);
    result.link_packets = std::move(link_packets_);
    if (measured_ > 0) {
      result.mean_delay = delay / static_cast<double>(measured_);
      result.p50 = units(delays_.Quantile(0.5));
      result.p99 = units(delays_.Quantile(0.99));
    }
    for (const Served& served : served_) result.hops += served.hops;
    for (size_t stage = 0; stage < served_[0].sums.size(); ++stage) {
      Sum sum;
      DelayHistogram stage_delays;
      for (const Served& served : served_) {
        sum.packets += served.sums[stage].packets;
        sum.delay += served.sums[stage].delay;
        stage_delays.Merge(served.delays[stage]);
      }
      result.stage_delay.push_back(sum.Mean(unit));
      result.stages.push_back(
          {sum.Mean(unit), units(stage_delays.Quantile(0.5)), units(stage_delays.Quantile(0.99))});
    }
    for (const Sum& sum : class_sums_) {
      result.class_delay.push_back(sum.Mean(unit));
      result.class_measured.push_back(sum.packets);
    }
    if (occupancy_.links() == 0) return;
    result.occupancy_population = occupancy_.MeanPackets();
    if (links_ == LinkModel::kSwitchOutput) {
      result.output_occupancy = occupancy_.SharesOfOutputs(network_);
    } else {
      result.straight_occupancy = occupancy_.Shares(network_, false);
      result.cross_occupancy = occupancy_.Shares(network_, true);
    }
  }

 private:
  struct Sum {
    uint64_t packets = 0;
    TickSum delay = 0;
    double Mean(double unit) const {
      return packets == 0 ? 0 : static_cast<double>(delay) / unit / static_cast<double>(packets);
    }
  };

  // For each stage: what one worker served.
  struct Served {
    explicit Served(int stages)
        : sums(static_cast<size_t>(stages)), delays(static_cast<size_t>(stages)) {}
    std::vector<Sum> sums;
    std::vector<DelayHistogram> delays;
    uint64_t hops = 0;
  };

  const Network& network_;
  const LinkModel links_;
  const RunTimes times_;
  const Ticks batch_length_;
  std::vector<Sum> batches_;
  DelayHistogram delays_;
  std::vector<Served> served_;  // one for each worker
  std::vector<Sum> class_sums_;
  std::vector<uint64_t> link_packets_;  // the worker that serves the link writes
  LinkOccupancy occupancy_;
  Ticks max_delay_ = 0;
  uint64_t delivered_ = 0;
  uint64_t measured_ = 0;
};

template <typename Server>
VirtualResult Run(const Network& network, const VirtualConfig& config, VirtualSource& source,
                  const RunTimes& times, const Server& server) {
  const AroundFaults around(network, config.faults);
  ServerNetwork<Server> servers(network, config.links, server, around.Usable());
  Crew crew(config.workers);
  DisciplineRecord record(network, config, times, config.workers);
  ClassSource classes(config.arrivals.seed, config.class_shares, network.rows());
  std::vector<VirtualPacket> born;
  std::vector<std::vector<Job>> nodes(network.rows());

  uint64_t generated = 0, left_out = 0, born_before = 0, born_measured = 0, delivered_then = 0;
  uint64_t population = 0, windows_measured = 0;
  Ticks now = 0;
  while (now < times.give_up && (now < times.end || record.measured() < born_measured)) {
    Ticks window_end = std::min(now + times.window, times.give_up);
    if (now < times.start) window_end = std::min(window_end, times.start);
    if (now < times.end) window_end = std::min(window_end, times.end);
    for (Row row = 0; row < network.rows(); ++row) {
      nodes[row].clear();
      const size_t count = source.FillRow(row, window_end, born, 0);
      for (size_t i = 0; i < count; ++i) {
        if (config.one_a_slot && i > 0 && born[i].time == born[i - 1].time) continue;
        const uint32_t priority = classes.Draw(row);
        if (!around.Sends(row, born[i].word)) {
          ++left_out;
          continue;
        }
        ++generated;
        nodes[row].push_back({born[i].time, born[i].time, born[i].word, 0, priority});
      }
    }
    servers.RunWindow(
        crew, nodes, window_end,
        [&](int worker, int stage, size_t link, std::span<const Job> arrivals,
            std::span<const Job> left) { record.Add(worker, stage, link, arrivals, left); });
    const uint64_t before = record.delivered();
    for (const std::vector<Job>& jobs : nodes) record.Delivered(jobs);
    if (window_end == times.start) born_before = generated;
    if (window_end > times.start && window_end <= times.end) {
      delivered_then += record.delivered() - before;
      population += generated - record.delivered();
      ++windows_measured;
      if (window_end == times.end) born_measured = generated - born_before;
    }
    now = window_end;
  }

  VirtualResult result;
  record.Report(result);
  result.injected = generated;
  result.left_out = left_out;
  result.in_flight = servers.jobs();
  result.unfinished = born_measured - result.measured;
  const double unit = static_cast<double>(times.unit);
  const double row_time = network.rows() * (static_cast<double>(times.end - times.start) / unit);
  result.offered = static_cast<double>(born_measured) / row_time;
  result.accepted = static_cast<double>(delivered_then) / row_time;
  if (windows_measured > 0) {
    result.mean_population =
        static_cast<double>(population) / static_cast<double>(windows_measured);
  }
  result.end_time = static_cast<double>(now) / unit;
  result.state_bytes = servers.bytes();
  return result;
}

}  // namespace

bool NeedsServers(const Network& network, const VirtualConfig& config) {
  const bool looks_closer =
      config.occupancy || (config.stage_percentiles && config.discipline == Discipline::kFifo);
  const bool has_many_classes =
      config.discipline != Discipline::kFifo &&
      WordLayout::BitsFor(config.class_shares.size()) > PriorityBlock::kMostClassBits;
  return network.multiplicity() > 1 || config.links != LinkModel::kEdge || looks_closer ||
         has_many_classes || config.one_a_slot || config.faults != nullptr;
}

VirtualResult RunServers(const Network& network, const VirtualConfig& config, VirtualSource& source,
                         const RunTimes& times) {
  switch (config.discipline) {
    case Discipline::kProcessorSharing:
      return Run(network, config, source, times, SharingServer(times.unit, kSharedFractionBits));
    case Discipline::kPriority:
      return Run(network, config, source, times, PriorityServer(times.unit));
    case Discipline::kFifo:
      break;
  }
  return Run(network, config, source, times, FifoServer(times.unit));
}

}  // namespace bfly::dataplane
