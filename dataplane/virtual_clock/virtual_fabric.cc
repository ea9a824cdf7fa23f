// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/virtual_fabric.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/virtual_clock/delay_sink.h"
#include "dataplane/virtual_clock/discipline_run.h"
#include "dataplane/virtual_clock/pipeline.h"
#include "dataplane/virtual_clock/stage_group.h"

namespace bfly::dataplane {
namespace {

// Enough packets per node and window that a node's fixed cost (some 20 ns) is small beside them,
// few enough that a block of 64 rows stays in a core's L2 cache.
constexpr double kPacketsPerNode = 48;

absl::Status CheckDiscipline(const Network& network, const VirtualConfig& config) {
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
  if (config.links == LinkModel::kSwitchOutput && network.straight_is_free()) {
    return absl::InvalidArgumentError("links: a hypercube has no switches that share outputs");
  }
  if (NeedsServers(config) && config.first_stages.size() > 1) {
    return absl::InvalidArgumentError(
        "first_stages: only plain FIFO links are run by more than one worker");
  }
  return absl::OkStatus();
}

absl::Status Check(const Network& network, const VirtualConfig& config) {
  if (network.wrapped()) {
    return absl::InvalidArgumentError(
        "network: a wrapped butterfly is not levelled; the virtual clock runs networks whose links "
        "all "
        "lead one level on");
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
  return CheckDiscipline(network, config);
}

}  // namespace

absl::StatusOr<VirtualResult> RunVirtual(const Network& network, const VirtualConfig& config) {
  if (absl::Status status = Check(network, config); !status.ok()) return status;
  // With slots a unit is a whole number of them; 2^20 ticks a slot leave room for windows of any
  // length.
  const Ticks slot = config.slots_per_unit > 0 ? Ticks{1} << 20 : 1;
  const Ticks unit = config.slots_per_unit > 0 ? slot * config.slots_per_unit : Ticks{1} << 32;
  const auto ticks = [&](double units) {
    return static_cast<Ticks>(std::llround(units * static_cast<double>(unit) / slot)) * slot;
  };
  const Ticks window = std::max(
      slot, ticks(config.window > 0 ? config.window : kPacketsPerNode / config.arrivals.rate));
  const Ticks start = ticks(config.warmup);
  const Ticks end = start + ticks(config.duration);

  VirtualSource source(network, config.arrivals,
                       config.fixed.empty()
                           ? DestinationPattern::Flip(network.dimension(), config.flip)
                           : DestinationPattern::Fixed(config.fixed),
                       unit, slot);
  const auto began = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  if (NeedsServers(config)) {
    VirtualResult result = RunServers(network, config, source, {unit, window, start, end, 2 * end});
    result.seconds = seconds();
    return result;
  }
  Pipeline pipeline(network, config.first_stages, unit);
  DelaySink sink(network.rows(), start, end, config.batches, unit);

  // A network that cannot keep up is given as long again as it has run, then called saturated.
  const Pipeline::Account account = pipeline.Run(source, sink, window, start, end, 2 * end);

  VirtualResult result;
  result.seconds = seconds();
  result.injected = source.generated();
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
  result.link_packets = pipeline.LinkPackets();
  result.end_time = static_cast<double>(account.end) / units;
  result.state_bytes = pipeline.bytes();
  return result;
}

}  // namespace bfly::dataplane
