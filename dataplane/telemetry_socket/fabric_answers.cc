// SPDX-License-Identifier: Apache-2.0
#include "dataplane/telemetry_socket/fabric_answers.h"

#include <algorithm>
#include <array>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace bfly::dataplane {
namespace {

// Changes of the fabric wait while an answer is made. An answer that sums up looks at about this
// many links.
constexpr uint64_t kMostLinksRead = 1 << 20;

uint64_t SumOf(const DropCounts& drops) {
  uint64_t sum = 0;
  for (const uint64_t packets : drops) sum += packets;
  return sum;
}

// Reads whole numbers separated by commas into `numbers`, of which the first `needed` must be
// there. `names` says in messages which is which.
template <size_t kNumbers>
absl::Status ReadNumbers(const std::string& parameters, size_t needed,
                         const std::array<const char*, kNumbers>& names,
                         std::array<uint64_t, kNumbers>& numbers) {
  std::vector<std::string> words;
  if (!parameters.empty()) words = absl::StrSplit(parameters, ',');
  if (words.size() > kNumbers) {
    return absl::InvalidArgumentError(
        absl::StrCat(words.size(), " parameters are too many: at most ", kNumbers));
  }
  if (words.size() < needed)
    return absl::InvalidArgumentError(absl::StrCat(names[words.size()], " is missing"));
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].size() > 20 || !absl::SimpleAtoi(words[i], &numbers[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat(names[i], ": '", words[i].substr(0, 20), "' is not a whole number"));
    }
  }
  return absl::OkStatus();
}

// Fills in the items `first` and those that follow it, of `count`.
template <class ItemOf>
void AddItems(uint64_t first, uint64_t count, size_t most, ItemOf item_of, FabricAnswer& answer) {
  answer.first = first;
  const uint64_t end = first < count ? first + std::min<uint64_t>(most, count - first) : first;
  for (uint64_t i = first; i < end; ++i) answer.items.push_back(item_of(i));
  if (end < count) answer.next = end;
}

absl::StatusOr<FabricAnswer> AnswerFabric(const Fabric& fabric, const std::string& parameters) {
  if (!parameters.empty()) return absl::InvalidArgumentError("the command takes no parameters");
  const Network& network = fabric.network();
  const Snapshot snapshot = fabric.summary();
  FabricAnswer answer;
  answer.figures = {
      {"rows", uint64_t{network.rows()}},
      {"stages", static_cast<uint64_t>(network.stages())},
      {"first_stage", static_cast<uint64_t>(fabric.stages().first)},
      {"last_stage", static_cast<uint64_t>(fabric.stages().second)},
      {"injected", snapshot.conservation.injected},
      {"trunk_in", snapshot.trunk_in},
      {"delivered", snapshot.conservation.delivered},
      {"dropped", snapshot.conservation.dropped},
      {"in_flight", snapshot.conservation.in_flight},
      {"trunk_out", snapshot.trunk_out},
      {"workers", uint64_t{snapshot.workers.size()}},
      {"ports", uint64_t{snapshot.ports.size()}},
  };
  for (size_t reason = 0; reason < snapshot.drops.size(); ++reason) {
    if (snapshot.drops[reason] == 0) continue;
    const char* const name = DropReasonName(static_cast<DropReason>(reason));
    answer.figures.emplace_back(absl::StrCat("dropped_", name), snapshot.drops[reason]);
  }
  return answer;
}

// The sum and the largest of one figure over the links of a stage, read in pieces.
struct OverLinks {
  uint64_t sum = 0, largest = 0;
};
OverLinks ReadStage(const Fabric& fabric, int stage, LinkFigure figure) {
  const Network& network = fabric.network();
  const uint64_t first = network.link_index({.stage = stage, .row = 0, .port = 0});
  const uint64_t links = uint64_t{network.rows()} * static_cast<uint64_t>(network.ports());
  std::array<uint64_t, 1024> values;
  OverLinks over;
  for (uint64_t begin = 0; begin < links; begin += values.size()) {
    const std::span<uint64_t> piece(values.data(),
                                    std::min<uint64_t>(values.size(), links - begin));
    fabric.ReadLinkFigures(figure, first + begin, piece);
    for (const uint64_t value : piece) {
      over.sum += value;
      over.largest = std::max(over.largest, value);
    }
  }
  return over;
}

absl::StatusOr<FabricAnswer> AnswerStages(const Fabric& fabric, const std::string& parameters) {
  const auto [first, last] = fabric.stages();
  std::array<uint64_t, 1> from = {static_cast<uint64_t>(first)};
  if (const absl::Status wrong = ReadNumbers<1>(parameters, 0, {"the first stage"}, from);
      !wrong.ok()) {
    return wrong;
  }
  FabricAnswer answer;
  answer.list = "stages";
  const Network& network = fabric.network();
  const uint64_t links = uint64_t{network.rows()} * static_cast<uint64_t>(network.ports());
  const size_t most = std::clamp<uint64_t>(kMostLinksRead / links, 1, kStagesOfAnswer);
  AddItems(
      std::max(from[0], static_cast<uint64_t>(first)), static_cast<uint64_t>(last) + 1, most,
      [&fabric](uint64_t number) -> FigureList {
        const auto read = [&fabric, number](LinkFigure figure) {
          return ReadStage(fabric, static_cast<int>(number), figure);
        };
        return {{"stage", number},
                {"packets", read(LinkFigure::kPackets).sum},
                {"bytes", read(LinkFigure::kBytes).sum},
                {"queued", read(LinkFigure::kOccupancy).sum},
                {"queue_peak", read(LinkFigure::kOccupancyPeak).largest},
                {"dropped", read(LinkFigure::kDrops).sum},
                {"busy_ns", read(LinkFigure::kBusy).sum}};
      },
      answer);
  return answer;
}

absl::StatusOr<FabricAnswer> AnswerLinks(const Fabric& fabric, const std::string& parameters) {
  const Network& network = fabric.network();
  const auto [first, last] = fabric.stages();
  std::array<uint64_t, 2> numbers = {0, 0};
  absl::Status wrong = ReadNumbers<2>(parameters, 1, {"the stage", "the first link"}, numbers);
  const auto [stage, from] = numbers;
  if (wrong.ok() && (stage < static_cast<uint64_t>(first) || stage > static_cast<uint64_t>(last))) {
    wrong = absl::InvalidArgumentError(absl::StrCat("stage ", stage, " is outside ", first, "..",
                                                    last, ", the stages that run here"));
  }
  if (!wrong.ok()) return wrong;
  FabricAnswer answer;
  answer.figures = {{"stage", stage}};
  answer.list = "links";
  const uint64_t begin =
      network.link_index({.stage = static_cast<int>(stage), .row = 0, .port = 0});
  AddItems(
      from, uint64_t{network.rows()} * static_cast<uint64_t>(network.ports()), kLinksOfAnswer,
      [&fabric, &network, begin](uint64_t number) -> FigureList {
        const LinkId link = network.link_at(begin + number);
        const LinkCounters counters = fabric.ReadLink(begin + number);
        return {{"row", uint64_t{link.row}},
                {"port", static_cast<uint64_t>(link.port)},
                {"next_row", uint64_t{network.next_row(link.stage, link.row, link.port)}},
                {"packets", counters.packets},
                {"bytes", counters.bytes},
                {"queued", uint64_t{counters.occupancy}},
                {"queue_peak", uint64_t{counters.occupancy_peak}},
                {"dropped", SumOf(counters.drops)},
                {"busy_ns", counters.busy_ns}};
      },
      answer);
  return answer;
}

absl::StatusOr<FabricAnswer> AnswerWorkers(const Fabric& fabric, const std::string& parameters) {
  std::array<uint64_t, 1> from = {0};
  if (const absl::Status wrong = ReadNumbers<1>(parameters, 0, {"the first worker"}, from);
      !wrong.ok()) {
    return wrong;
  }
  const Snapshot snapshot = fabric.summary();
  FabricAnswer answer;
  answer.figures = {{"tsc_hz", snapshot.tsc_hz}};
  answer.list = "workers";
  AddItems(
      from[0], snapshot.workers.size(), kWorkersOfAnswer,
      [&snapshot](uint64_t number) -> FigureList {
        const WorkerCounters& worker = snapshot.workers[number];
        RingOccupancy fullest;
        for (const RingOccupancy& ring : worker.rings)
          if (ring.peak >= fullest.peak) fullest = ring;
        return {{"lcore", static_cast<uint64_t>(worker.lcore)},
                {"passes", worker.passes},
                {"idle_passes", worker.idle_passes},
                {"busy_cycles", worker.busy.cycles},
                {"hops", worker.busy.hops},
                {"frames", worker.polls.packets},
                {"polls", worker.polls.polls()},
                {"empty_polls", worker.polls.empty()},
                {"late_packets", worker.lateness.packets},
                {"late_p99_ns", static_cast<uint64_t>(worker.lateness.p99_ns)},
                {"late_max_ns", static_cast<uint64_t>(worker.lateness.max_ns)},
                {"ring_peak", uint64_t{fullest.peak}},
                {"ring_capacity", uint64_t{fullest.capacity}}};
      },
      answer);
  return answer;
}

absl::StatusOr<FabricAnswer> AnswerPorts(const Fabric& fabric, const std::string& parameters) {
  std::array<uint64_t, 1> from = {0};
  if (const absl::Status wrong = ReadNumbers<1>(parameters, 0, {"the first port"}, from);
      !wrong.ok()) {
    return wrong;
  }
  const Snapshot snapshot = fabric.summary();
  FabricAnswer answer;
  answer.list = "ports";
  AddItems(
      from[0], snapshot.ports.size(), kPortsOfAnswer,
      [&snapshot](uint64_t number) -> FigureList {
        const PortCounters& port = snapshot.ports[number];
        return {{"name", port.name},
                {"driver", port.driver},
                {"rx_packets", port.rx_packets},
                {"rx_bytes", port.rx_bytes},
                {"tx_packets", port.tx_packets},
                {"tx_bytes", port.tx_bytes},
                {"rx_missed", port.rx_missed},
                {"dropped", SumOf(port.drops)},
                {"queue_pairs", uint64_t{port.queues.size()}}};
      },
      answer);
  return answer;
}

}  // namespace

const std::vector<FabricCommand>& FabricCommands() {
  static const std::vector<FabricCommand> commands = {
      {"/bfly/fabric", "The account of packets of this data plane. Takes no parameters",
       AnswerFabric},
      {"/bfly/links",
       "Links of a stage. Parameters: STAGE[,FIRST], FIRST is `next` of the answer before",
       AnswerLinks},
      {"/bfly/ports", "Host ports and trunks. Parameters: [FIRST]", AnswerPorts},
      {"/bfly/stages", "Sums over the links of each stage. Parameters: [FIRST]", AnswerStages},
      {"/bfly/workers", "Workers: cycles, polls, lateness. Parameters: [FIRST]", AnswerWorkers},
  };
  return commands;
}

}  // namespace bfly::dataplane
