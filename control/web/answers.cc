// SPDX-License-Identifier: Apache-2.0
#include "control/web/answers.h"

#include <cmath>
#include <string>
#include <utility>

#include "control/json/message_json.h"
#include "dataplane/steps/route.h"
#include "topologies/permutation.h"

namespace bfly::control {
namespace {

using nlohmann::ordered_json;

// Rates are for people: three digits behind the point, fewer bytes on the wire.
double Rounded(double rate) { return std::round(rate * 1000) / 1000; }

// null: the rate is not known.
ordered_json RateOf(const SampledLink& link, double rate) {
  return link.rate_is_known ? ordered_json(Rounded(rate)) : ordered_json(nullptr);
}

ordered_json LinkColumns() {
  return {"stage",     "row",
          "port",      "next_row",
          "packets",   "bytes",
          "drops",     "packet_rate",
          "byte_rate", "drop_rate",
          "occupancy", "occupancy_peak",
          "circuits",  "circuit_capacity",
          "down",      "congestion"};
}

ordered_json LinkRow(const SampledLink& link) {
  return {link.stage,
          link.row,
          link.port,
          link.next_row,
          link.packets,
          link.bytes,
          link.drops,
          RateOf(link, link.packet_rate),
          RateOf(link, link.byte_rate),
          RateOf(link, link.drop_rate),
          link.occupancy,
          link.occupancy_peak,
          link.circuits,
          link.circuit_capacity,
          link.down ? 1 : 0,
          link.congestion};
}

ordered_json LinkTable(const std::vector<SampledLink>& links) {
  ordered_json table{{"columns", LinkColumns()}, {"rows", ordered_json::array()}};
  for (const SampledLink& link : links) table["rows"].push_back(LinkRow(link));
  return table;
}

ordered_json BandTable(const std::vector<BandLink>& bands) {
  ordered_json table{{"columns",
                      {"stage", "from", "to", "links", "down", "packets", "drops", "packet_rate",
                       "byte_rate", "drop_rate", "occupancy", "circuits", "most_packet_rate",
                       "most_byte_rate", "most_occupancy", "most_circuits", "most_drops"}},
                     {"rows", ordered_json::array()}};
  for (const BandLink& band : bands) {
    table["rows"].push_back({band.stage, band.from, band.to, band.links, band.down, band.packets,
                             band.drops, Rounded(band.packet_rate), Rounded(band.byte_rate),
                             Rounded(band.drop_rate), band.occupancy, band.circuits,
                             Rounded(band.most_packet_rate), Rounded(band.most_byte_rate),
                             band.most_occupancy, band.most_circuits, band.most_drops});
  }
  return table;
}

ordered_json StageTable(const std::vector<StageLoad>& stages) {
  ordered_json table{
      {"columns",
       {"packets", "drops", "packet_rate", "drop_rate", "occupancy", "circuits", "down"}},
      {"rows", ordered_json::array()}};
  for (const StageLoad& stage : stages) {
    table["rows"].push_back({stage.packets, stage.drops, Rounded(stage.packet_rate),
                             Rounded(stage.drop_rate), stage.occupancy, stage.circuits,
                             stage.down ? ordered_json(*stage.down) : ordered_json(nullptr)});
  }
  return table;
}

ordered_json Drops(const google::protobuf::RepeatedPtrField<v1::DropCount>& drops) {
  ordered_json object = ordered_json::object();
  for (const v1::DropCount& drop : drops) {
    if (drop.packets() > 0) object[drop.reason()] = drop.packets();
  }
  return object;
}

}  // namespace

ordered_json TopologyAnswer(const FabricWatch::Known& known) {
  const v1::DescribeResponse& network = known.description;
  ordered_json problems = ordered_json::array();
  if (!known.trouble.empty())
    problems.push_back("the figures are not of now, because reading them fails: " + known.trouble);
  for (const std::string& problem : known.counters.problems()) problems.push_back(problem);
  ordered_json answer{
      {"fabric", known.fabric},
      {"name", network.name()},
      {"kind", network.kind()},
      {"rows", network.rows()},
      {"levels", network.levels()},
      {"stages", network.stages()},
      {"link_count", network.link_count()},
      {"free_links", StraightIsFree(network) ? network.link_count() / 2 : 0},
      {"ports", 2 * std::max(1u, network.multiplicity())},
      {"seed", network.seed()},
      {"every_link", known.every_link},
      {"problems", std::move(problems)},
  };
  if (network.has_faults()) answer["faults"] = ToJson(network.faults());
  return answer;
}

ordered_json LoadAnswer(const FabricSample& sample, uint32_t bands, LinkFigure by, size_t hottest) {
  return {{"fabric", sample.fabric},
          {"every_link", sample.every_link()},
          {"bands", bands},
          {"stages", StageTable(StageLoads(sample))},
          {"links", BandTable(Bands(sample, bands))},
          {"hottest", LinkTable(Hottest(sample, by, hottest))}};
}

ordered_json LinksAnswer(const FabricSample& sample, const std::vector<SampledLink>& links) {
  return {
      {"fabric", sample.fabric}, {"every_link", sample.every_link()}, {"links", LinkTable(links)}};
}

ordered_json CircuitsAnswer(const v1::ListResponse& list) {
  ordered_json circuits = ordered_json::array();
  for (const v1::Circuit& circuit : list.circuits()) circuits.push_back(ToJson(circuit));
  return {{"total", list.total()},
          {"next_page_token", list.next_page_token()},
          {"circuits", std::move(circuits)}};
}

ordered_json PortsAnswer(const FabricWatch::Known& known) {
  ordered_json ports = ordered_json::array();
  for (int i = 0; i < known.counters.ports_size(); ++i) {
    const v1::PortCounters& port = known.counters.ports(i);
    const PortRate& rate = known.ports.at(static_cast<size_t>(i));
    ports.push_back({
        {"name", port.name()},
        {"data_plane", port.data_plane()},
        {"driver", port.driver()},
        {"rx_packets", port.rx_packets()},
        {"rx_bytes", port.rx_bytes()},
        {"tx_packets", port.tx_packets()},
        {"tx_bytes", port.tx_bytes()},
        {"rx_rate", Rounded(rate.rx_packets)},
        {"tx_rate", Rounded(rate.tx_packets)},
        {"rx_missed", port.rx_missed()},
        {"drops", Drops(port.drops())},
        {"lost", port.rx_missed() + PacketsIn(port.drops())},
    });
  }
  return {{"fabric", known.fabric}, {"ports", std::move(ports)}};
}

ordered_json HistoryAnswer(const FabricWatch::Known& known) {
  ordered_json moments{{"columns",
                        {"time_ns", "injected", "delivered", "dropped", "in_flight", "circuits",
                         "broken", "injected_rate", "delivered_rate", "drop_rate", "age_ns"}},
                       {"rows", ordered_json::array()}};
  for (const FabricMoment& moment : known.moments) {
    moments["rows"].push_back({moment.time_ns, moment.injected, moment.delivered, moment.dropped,
                               moment.in_flight, moment.circuits, moment.broken,
                               Rounded(moment.injected_rate), Rounded(moment.delivered_rate),
                               Rounded(moment.drop_rate),
                               known.moments.back().monotonic_ns - moment.monotonic_ns});
  }
  return {{"fabric", known.fabric},
          {"drops", Drops(known.counters.drops())},
          {"moments", std::move(moments)}};
}

ordered_json ProgramsAnswer() {
  ordered_json programs = ordered_json::array();
  for (const dataplane::RouteProgram& program : dataplane::AllRoutePrograms()) {
    programs.push_back({{"name", std::string(program.name)},
                        {"about", std::string(program.about)},
                        {"networks", std::string(program.networks)}});
  }
  return {{"programs", std::move(programs)}, {"permutations", PermutationNames()}};
}

ordered_json ProgramAnswer(uint64_t fabric, const v1::RouteRecording& recording) {
  ordered_json answer{{"fabric", fabric}};
  answer.update(ToJson(recording));
  return answer;
}

}  // namespace bfly::control
