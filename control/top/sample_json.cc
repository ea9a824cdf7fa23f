// SPDX-License-Identifier: Apache-2.0
#include "control/top/sample_json.h"

#include "control/json/message_json.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

Json LinkJson(const LinkSample& link) {
  Json json = {{"stage", link.stage},
               {"row", link.row},
               {"port", link.port},
               {"next_row", link.next_row},
               {"packets", link.packets},
               {"bytes", link.bytes},
               {"dropped", link.dropped},
               {"packets_per_second", link.packets_per_second},
               {"bits_per_second", link.bits_per_second},
               {"drops_per_second", link.drops_per_second},
               {"queued", link.queued},
               {"queue_peak", link.peak},
               {"circuits", link.circuits},
               {"heat", link.heat}};
  if (link.rate > 0) json["rate"] = link.rate;
  if (link.utilisation) json["utilisation"] = *link.utilisation;
  return json;
}

Json StageJson(const Sample& sample, const StageSample& stage) {
  Json json = {{"stage", stage.stage},
               {"packets", stage.packets},
               {"dropped", stage.dropped},
               {"packets_per_second", stage.packets_per_second},
               {"bits_per_second", stage.bits_per_second},
               {"drops_per_second", stage.drops_per_second},
               {"queued", stage.queued},
               {"circuits", stage.circuits}};
  if (stage.hottest) json["hottest"] = LinkJson(sample.links[*stage.hottest]);
  return json;
}

Json WorkerJson(const WorkerSample& worker) {
  Json json = {
      {"data_plane", worker.data_plane},
      {"lcore", worker.lcore},
      {"stages", worker.stages},
      {"rows", worker.rows},
      {"frames_per_second", worker.frames_per_second},
      {"hops_per_second", worker.hops_per_second},
      {"cycles_per_hop", worker.cycles_per_hop},
      {"late_packets", worker.late.packets()},
      {"late_p99_us", worker.late.p99_us()},
      {"late_max_us", worker.late.max_us()},
      {"ring",
       {{"packets", worker.ring}, {"peak", worker.ring_peak}, {"capacity", worker.ring_capacity}}},
      {"costs", Json::array()}};
  for (const v1::StageCost& cost : worker.costs) json["costs"].push_back(ToJson(cost));
  if (!worker.placed.empty()) json["placed"] = worker.placed;
  if (worker.busy) json["busy"] = *worker.busy;
  if (worker.empty_polls) json["empty_polls"] = *worker.empty_polls;
  return json;
}

Json PortJson(const PortSample& port) {
  return {{"data_plane", port.data_plane},
          {"name", port.name},
          {"driver", port.driver},
          {"queue_pairs", port.queue_pairs},
          {"received", port.received},
          {"sent", port.sent},
          {"missed", port.missed},
          {"dropped", port.dropped},
          {"missed_per_second", port.missed_per_second},
          {"rx_packets_per_second", port.rx_per_second},
          {"tx_packets_per_second", port.tx_per_second},
          {"rx_bits_per_second", port.rx_bits},
          {"tx_bits_per_second", port.tx_bits}};
}

Json LatencyJson(const v1::LatencySummary& latency) {
  return {{"count", latency.count()}, {"mean", latency.mean()}, {"p50", latency.p50()},
          {"p90", latency.p90()},     {"p99", latency.p99()},   {"p999", latency.p999()},
          {"max", latency.max()}};
}

Json CircuitJson(const v1::Circuit& circuit) {
  return {{"id", circuit.id()},
          {"input", circuit.input()},
          {"output", circuit.output()},
          {"congestion", circuit.congestion()},
          {"broken", circuit.broken_size() > 0}};
}

}  // namespace

nlohmann::ordered_json SampleJson(const Sample& sample) {
  const v1::Conservation& account = sample.account;
  Json json = {{"name", sample.name},
               {"kind", sample.kind},
               {"rows", sample.rows},
               {"stage_count", sample.stages},
               {"time_ns", sample.time_ns},
               {"seconds", sample.seconds},
               {"conservation",
                {{"injected", account.injected()},
                 {"delivered", account.delivered()},
                 {"dropped", account.dropped()},
                 {"in_flight", account.in_flight()}}},
               {"injected_per_second", sample.injected},
               {"delivered_per_second", sample.delivered},
               {"dropped_per_second", sample.dropped},
               {"missed_per_second", sample.missed},
               {"every_link", sample.every_link}};
  const auto list = [&json](const char* name, const auto& values, const auto& text) {
    Json& array = json[name] = Json::array();
    for (const auto& value : values) array.push_back(text(value));
  };
  list("stages", sample.by_stage,
       [&sample](const StageSample& stage) { return StageJson(sample, stage); });
  list("links", sample.links, LinkJson);
  list("workers", sample.workers, WorkerJson);
  list("ports", sample.host_ports, PortJson);
  list("circuits", sample.circuits, CircuitJson);
  const auto message = [](const google::protobuf::Message& value) { return ToJson(value); };
  list("drops", sample.drops, message);
  list("sources", sample.sources, message);
  json["circuits_total"] = sample.circuits_total;
  json["circuit_counts"] = ToJson(sample.circuit_counts);
  json["latency"] = {{"recording", sample.latency.recording()},
                     {"end_to_end", LatencyJson(sample.latency.end_to_end())},
                     {"links", LatencyJson(sample.latency.links())},
                     {"late", LatencyJson(sample.latency.late())},
                     {"stages", Json::array()}};
  for (const v1::StageLatency& stage : sample.latency.stages()) {
    Json of_stage = LatencyJson(stage.latency());
    of_stage["stage"] = stage.stage();
    json["latency"]["stages"].push_back(std::move(of_stage));
  }
  json["problems"] = sample.problems;
  return json;
}

}  // namespace bfly::control
