// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/virtual_fabric.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/virtual_clock/cpu_seconds.h"
#include "dataplane/virtual_clock/delay_sink.h"
#include "dataplane/virtual_clock/discipline_run.h"
#include "dataplane/virtual_clock/pipeline.h"
#include "dataplane/virtual_clock/stage_group.h"

namespace bfly::dataplane {
namespace {

// How many packets a row generates between the moments when the packets inside are counted.
double PacketsPerPeriod(const Network& network) {
  return std::clamp(network.stages() * 2.1, 16.0, 48.0);
}

struct Resolution {
  Ticks slot;  // 1 in continuous time
  Ticks unit;
};

// Up to 2^32 ticks per unit and 2^20 per slot, if a birth has room beside the routing bits in a
// packet's word: a packet is at most as old as twice the run's length.
Resolution ResolutionOf(const Network& network, const VirtualConfig& config) {
  const auto units = static_cast<uint64_t>(2 * (config.warmup + config.duration)) + 1;
  const int room = 64 - network.hops() - static_cast<int>(std::bit_width(units));
  const int bits = std::clamp(room, 0, kMostBucketBits);
  if (config.slots_per_unit == 0) return {1, Ticks{1} << bits};
  const Ticks slot =
      Ticks{1} << std::clamp(bits - static_cast<int>(std::bit_width(config.slots_per_unit)), 0, 20);
  return {slot, slot * config.slots_per_unit};
}

constexpr Ticks kCoarsest = Ticks{1} << 8;  // ticks per unit and per slot
constexpr double kShortestGap = 64;         // the mean number of ticks between two packets of a row

absl::Status CheckDiscipline(const Network& network, const VirtualConfig& config) {
  if (config.faults != nullptr && &config.faults->network() != &network) {
    return absl::InvalidArgumentError("faults: are about another network than the one that runs");
  }
  double sum = 0;
  for (const double share : config.class_shares) {
    if (!(share > 0 && share <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("class_shares: ", share, " is outside 0 (exclusive) to 1"));
    }
    sum += share;
  }
  if (config.discipline == Discipline::kPriority && !(std::abs(sum - 1) < 1e-9)) {
    return absl::InvalidArgumentError(
        absl::StrCat("class_shares: sum to ", sum, ", and every packet belongs to one class"));
  }
  if (config.one_a_slot && (config.arrivals.process != ArrivalConfig::Process::kSlotBatch ||
                            config.arrivals.rate > config.slots_per_unit)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rate: ", config.arrivals.rate, " with one packet a slot needs slotted time and at most ",
        config.slots_per_unit, " packets per unit"));
  }
  if (config.links == LinkModel::kSwitchOutput && network.straight_is_free()) {
    return absl::InvalidArgumentError("links: a hypercube has no switches that share outputs");
  }
  if (config.links == LinkModel::kSwitchOutput && network.multiplicity() > 1) {
    return absl::InvalidArgumentError(
        "links: switches that share outputs have one port a direction, this network has several");
  }
  if (NeedsServers(network, config) && config.first_stages.size() > 1) {
    return absl::InvalidArgumentError(
        "first_stages: this run has no placement of stages, its workers share the rows (no "
        "placement: occupancy, percentiles of FIFO stages, one packet a slot, more than 8 "
        "classes, several ports a direction, shared switch outputs, faults)");
  }
  return absl::OkStatus();
}

// A slot has a packet of its Poisson batch with probability 1 - exp(-mean); the others of the batch
// are left out later. A mean of 40 stands for certainty.
ArrivalConfig ArrivalsOf(const VirtualConfig& config) {
  ArrivalConfig arrivals = config.arrivals;
  if (config.one_a_slot) {
    const double slots = config.slots_per_unit;
    arrivals.rate = slots * std::min(40.0, -std::log1p(-arrivals.rate / slots));
  }
  return arrivals;
}

// The memory of a packet that waits for a link.
size_t WaitingBytes(Discipline discipline) {
  switch (discipline) {
    case Discipline::kProcessorSharing:
      return sizeof(Sharer);
    case Discipline::kPriority:
      return sizeof(VirtualPacket);
    case Discipline::kFifo:
      break;
  }
  return sizeof(PacketWord);
}

}  // namespace

absl::Status CheckVirtual(const Network& network, const VirtualConfig& config) {
  if (network.wrapped()) {
    return absl::InvalidArgumentError(
        "network: a wrapped butterfly is not levelled; the virtual clock runs networks whose links "
        "all lead one level on");
  }
  if (!(config.arrivals.rate > 0) || config.arrivals.rate > 1e3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rate: ", config.arrivals.rate, " is outside 0 (exclusive) to 1000 packets per unit"));
  }
  if (!(config.flip >= 0 && config.flip <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("flip: ", config.flip, " is not a probability (0 to 1)"));
  }
  if (!config.fixed.empty() && config.fixed.size() != network.rows()) {
    return absl::InvalidArgumentError(absl::StrCat("fixed: ", config.fixed.size(),
                                                   " destinations given, the network has ",
                                                   network.rows(), " rows"));
  }
  if (!(config.warmup >= 0) || !(config.duration > 0) || config.warmup + config.duration > 1e8) {
    return absl::InvalidArgumentError(absl::StrCat("duration: ", config.duration,
                                                   " after a warm-up of ", config.warmup,
                                                   " is outside 0 (exclusive) to 1e8 units"));
  }
  if (config.batches < 1 || config.batches > 10000) {
    return absl::InvalidArgumentError(
        absl::StrCat("batches: ", config.batches, " is outside 1..10000"));
  }
  const std::vector<int>& first = config.first_stages;
  if (first.empty() || first[0] != 0 ||
      !std::is_sorted(first.begin(), first.end(), std::less_equal<>()) ||
      first.back() >= network.stages()) {
    return absl::InvalidArgumentError(
        absl::StrCat("first_stages: must start at 0 and ascend below ", network.stages(),
                     ", one entry a worker"));
  }
  if (config.arrivals.process == ArrivalConfig::Process::kSlotBatch && config.slots_per_unit == 0) {
    return absl::InvalidArgumentError("slots_per_unit: slotted arrivals need at least 1");
  }
  if (config.slots_per_unit > 1000000) {
    return absl::InvalidArgumentError(
        absl::StrCat("slots_per_unit: ", config.slots_per_unit, " is outside 0..1000000"));
  }
  if (config.workers < 1 || config.workers > 256 || (config.workers > 1 && first.size() > 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "workers: ", config.workers,
        " is outside 1..256, or shares rows and has a placement of stages at the same time"));
  }
  const Resolution resolution = ResolutionOf(network, config);
  if (resolution.unit < kCoarsest || (config.slots_per_unit > 0 && resolution.slot < kCoarsest)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "duration: ", config.warmup + config.duration,
        " units with the warm-up are too many for a network of ", network.hops(), " hops"));
  }
  const double unit = static_cast<double>(resolution.unit);
  if (unit / config.arrivals.rate < kShortestGap) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rate: ", config.arrivals.rate, " packets per unit are too many where a unit has ",
        resolution.unit, " ticks, because of ", network.hops(), " hops and a duration of ",
        config.warmup + config.duration, " units with the warm-up"));
  }
  if (config.duration * unit < static_cast<double>(resolution.slot)) {
    return absl::InvalidArgumentError(
        absl::StrCat("duration: ", config.duration, " units are shorter than ",
                     config.slots_per_unit == 0 ? "a tick" : "a slot"));
  }
  return CheckDiscipline(network, config);
}

absl::StatusOr<VirtualResult> RunVirtual(const Network& network, const VirtualConfig& config) {
  if (absl::Status status = CheckVirtual(network, config); !status.ok()) return status;
  const Resolution resolution = ResolutionOf(network, config);
  const Ticks slot = resolution.slot, unit = resolution.unit;
  const auto ticks = [&](double units) {
    return static_cast<Ticks>(std::llround(units * static_cast<double>(unit) / slot)) * slot;
  };
  // A window that is longer than the run, which ends at twice its length, does not end in it.
  const double window_units =
      std::min(config.window > 0 ? config.window : PacketsPerPeriod(network) / config.arrivals.rate,
               2 * (config.warmup + config.duration) + 1);
  const Ticks window = std::max(slot, ticks(window_units));
  const Ticks start = ticks(config.warmup);
  const Ticks end = start + ticks(config.duration);

  VirtualSource source(network, ArrivalsOf(config),
                       config.fixed.empty()
                           ? DestinationPattern::Flip(network.dimension(), config.flip)
                           : DestinationPattern::Fixed(config.fixed),
                       unit, slot);
  const auto began = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  const double cpu_began = CpuSeconds();
  const bool is_fifo = config.discipline == Discipline::kFifo;
  const size_t classes = is_fifo ? 1 : std::max<size_t>(config.class_shares.size(), 1);
  const WordLayout words{network.hops(), WordLayout::BitsFor(classes)};
  if (NeedsServers(network, config) || !words.HasRoom(2 * end)) {
    VirtualResult result = RunServers(network, config, source, {unit, window, start, end, 2 * end});
    result.seconds = seconds();
    result.cpu_seconds = CpuSeconds() - cpu_began;
    return result;
  }
  WindowPlan plan = is_fifo ? PlanWindows(network, config.arrivals.rate, unit, config.vectors)
                            : PlanServedWindows(config.arrivals.rate, unit);
  if (config.window > 0) {
    const Ticks length = is_fifo ? window : std::min(window, kLongestSharedWindow);
    plan = PlanWindows(network, config.arrivals.rate, unit,
                       is_fifo ? config.vectors : Vectors::kNone, length);
  }
  plan.length = std::max(slot, plan.length / slot * slot);
  Pipeline pipeline(network, config.first_stages, config.workers,
                    {config.discipline, unit, words, start, end}, plan, config.stage_percentiles);
  DelaySink sink(words, start, end, config.batches, classes, unit);
  ClassSource class_source(config.arrivals.seed, config.class_shares, network.rows());

  // A network that cannot keep up runs as long again as it has run, and then counts as saturated.
  const Pipeline::Account account =
      pipeline.Run(source, classes > 1 ? &class_source : nullptr, sink,
                   {.period = window, .start = start, .end = end, .give_up = 2 * end});

  VirtualResult result;
  result.seconds = seconds();
  result.cpu_seconds = CpuSeconds() - cpu_began;
  result.injected = account.generated;
  result.delivered = sink.delivered();
  result.in_flight = pipeline.queued();
  result.hops = pipeline.handled();
  sink.Report(result);
  result.unfinished = account.born_measured - sink.measured();
  const double units = static_cast<double>(unit);
  const double measured_time = static_cast<double>(end - start) / units;
  const double rows = network.rows();
  result.offered = static_cast<double>(account.born_measured) / (rows * measured_time);
  result.accepted = static_cast<double>(account.delivered_then) / (rows * measured_time);
  result.mean_population = account.mean_population;
  result.stage_delay = pipeline.StageDelays(unit);
  for (const DelayHistogram& delays : pipeline.StageHistograms()) {
    const auto quantile = [&](double q) { return static_cast<double>(delays.Quantile(q)) / units; };
    result.stages.push_back(
        {result.stage_delay[result.stages.size()], quantile(0.5), quantile(0.99)});
  }
  if (!is_fifo && classes == 1) {
    result.class_delay = {result.mean_delay};
    result.class_measured = {result.measured};
  }
  result.link_packets = pipeline.TakeLinkPackets();
  result.end_time = static_cast<double>(account.end) / units;
  result.state_bytes = pipeline.bytes() + source.bytes() + class_source.bytes();
  result.queued_bytes = result.in_flight * WaitingBytes(config.discipline);
  return result;
}

}  // namespace bfly::dataplane
