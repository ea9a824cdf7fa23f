// SPDX-License-Identifier: Apache-2.0
// What a report says of packets, counted from the log of their crossings.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "dataplane/steps/route_run.h"

namespace bfly::dataplane {
namespace {

constexpr uint64_t kMaxStandingOfLevel = uint64_t{1} << 24;

uint32_t LastStep(const CrossingLog& log, int hop, uint64_t packet) {
  return hop == 0 ? log.begin(packet) : log.at(hop - 1, packet).step;
}

void CountDelivered(const CrossingLog& log, RouteReport& report) {
  const int last = log.network().hops() - 1;
  uint64_t sum = 0;
  for (uint64_t packet = 0; packet < log.packets(); ++packet) {
    const uint32_t step = log.at(last, packet).step;
    if (step == 0) continue;
    const uint64_t latency = step - log.begin(packet);
    ++report.delivered;
    sum += latency;
    report.max_latency = std::max(report.max_latency, latency);
  }
  if (report.delivered > 0) {
    report.mean_latency = static_cast<double>(sum) / static_cast<double>(report.delivered);
  }
}

void CountLinks(const CrossingLog& log, RouteReport& report) {
  const Network& network = log.network();
  std::vector<uint32_t> carried;
  for (int hop = 0; hop < network.hops(); ++hop) {
    carried.assign(size_t{network.rows()} * static_cast<size_t>(network.ports()), 0);
    for (uint64_t packet = 0; packet < log.packets(); ++packet) {
      const Crossing& crossing = log.at(hop, packet);
      if (crossing.step > 0) ++carried[crossing.link];
    }
    report.stage_congestion.push_back(*std::max_element(carried.begin(), carried.end()));
  }
  report.congestion =
      *std::max_element(report.stage_congestion.begin(), report.stage_congestion.end());
}

// A packet that has not left by the end of the run has waited until then.
void CountWaits(uint64_t steps_a_hop, const CrossingLog& log, RouteReport& report) {
  report.levels.resize(static_cast<size_t>(log.network().hops()));
  for (int hop = 0; hop < log.network().hops(); ++hop) {
    LevelWaits& level = report.levels[static_cast<size_t>(hop)];
    const uint64_t least = hop == 0 ? 1 : steps_a_hop;
    for (uint64_t packet = 0; packet < log.packets(); ++packet) {
      if (!log.has_begun(packet)) continue;
      if (hop > 0 && log.at(hop - 1, packet).step == 0) continue;
      ++level.packets;
      const uint64_t came = LastStep(log, hop, packet);
      const uint64_t left = log.at(hop, packet).step;
      const uint64_t stood = left > 0 ? left - came : report.steps - came + 1;
      if (stood <= least) continue;
      ++level.waited;
      level.waited_steps += stood - least;
      level.most_steps = std::max(level.most_steps, stood - least);
    }
  }
}

// Calls mark(sample, packet, change) where a packet comes to a level and where it leaves. No step
// of the log comes after report.steps.
template <typename Mark>
void ForStays(const CrossingLog& log, int level, uint64_t steps_a_sample, Mark&& mark) {
  const auto sample = [&](uint64_t step) { return (step + steps_a_sample - 1) / steps_a_sample; };
  for (uint64_t packet = 0; packet < log.packets(); ++packet) {
    if (!log.has_begun(packet)) continue;
    if (level > 0 && log.at(level - 1, packet).step == 0) continue;
    mark(sample(LastStep(log, level, packet)), packet, 1);
    if (level == log.network().hops()) continue;
    if (const uint64_t left = log.at(level, packet).step; left > 0) mark(sample(left), packet, -1);
  }
}

// The row where a packet stands at a level.
Row RowAt(const RouteRun& run, const std::vector<Row>& input, int level, uint64_t packet) {
  if (level == 0) return input[packet];
  const uint32_t link = run.log.at(level - 1, packet).link;
  const auto ports = static_cast<uint32_t>(run.network.ports());
  return run.network.next_row(run.network.stage_of_hop(level - 1), link / ports,
                              static_cast<int>(link % ports));
}

void CountStanding(RouteRun& run) {
  RouteReport& report = run.report;
  uint64_t most = run.options.max_samples;
  if (run.options.level >= 0) most = std::min(most, kMaxStandingOfLevel / run.network.rows());
  most = std::max<uint64_t>(most, 2) - 1;
  report.steps_a_sample = std::max<uint64_t>(1, (report.steps + most - 1) / most);
  report.samples = (report.steps + report.steps_a_sample - 1) / report.steps_a_sample + 1;
  const auto levels = static_cast<size_t>(run.network.hops() + 1);
  std::vector<int64_t> change(report.samples * levels);
  for (size_t level = 0; level < levels; ++level) {
    ForStays(run.log, static_cast<int>(level), report.steps_a_sample,
             [&](uint64_t sample, uint64_t, int by) { change[sample * levels + level] += by; });
  }
  report.standing.resize(change.size());
  for (size_t i = 0; i < change.size(); ++i) {
    if (i >= levels) change[i] += change[i - levels];
    report.standing[i] = static_cast<uint64_t>(change[i]);
  }
  if (run.options.level < 0) return;
  const size_t rows = run.network.rows();
  std::vector<Row> input(run.log.packets());
  for (Row row = 0; row < rows; ++row) {
    const std::vector<uint32_t>& first = run.request.relation.first;
    std::fill(input.begin() + first[row], input.begin() + first[row + 1], row);
  }
  std::vector<int32_t> of_row(report.samples * rows);
  ForStays(run.log, run.options.level, report.steps_a_sample,
           [&](uint64_t sample, uint64_t packet, int by) {
             of_row[sample * rows + RowAt(run, input, run.options.level, packet)] += by;
           });
  report.standing_of_level.resize(of_row.size());
  for (size_t i = 0; i < of_row.size(); ++i) {
    if (i >= rows) of_row[i] += of_row[i - rows];
    report.standing_of_level[i] = static_cast<uint32_t>(of_row[i]);
  }
}

}  // namespace

void Summarize(const RouteProgramRun& program, RouteRun& run) {
  RouteReport& report = run.report;
  CountDelivered(run.log, report);
  CountLinks(run.log, report);
  CountWaits(program.steps_a_hop, run.log, report);
  CountStanding(run);
  report.finished = report.delivered + report.left_out == report.packets;
  if (report.finished || !report.trouble.empty()) return;
  report.trouble = absl::StrCat("the limit of ", run.request.max_steps, " steps is reached");
}

}  // namespace bfly::dataplane
