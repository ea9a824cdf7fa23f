// SPDX-License-Identifier: Apache-2.0
#include "control/agent/route_messages.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

absl::Status TooManyPackets(absl::string_view field, uint64_t packets, uint64_t most) {
  return ErrorAtField(absl::StatusCode::kResourceExhausted, field,
                      absl::StrCat("asks for ", packets, " packets, and a run may have ", most,
                                   "; send them in several runs"));
}

// The relation whose packets are listed. RunRoute checks where they go.
absl::StatusOr<Relation> ListedRelation(const v1::RouteRequest& request, uint32_t rows,
                                        uint64_t most_packets) {
  const auto inputs = static_cast<uint32_t>(request.packets_of_input_size());
  const auto outputs = static_cast<uint64_t>(request.outputs_size());
  if (inputs != rows) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "packets_of_input",
                        absl::StrCat("has ", inputs, " entries, and the network has ", rows,
                                     " rows; give a number for each, 0 if it sends nothing"));
  }
  if (outputs > most_packets) return TooManyPackets("outputs", outputs, most_packets);
  Relation relation;
  relation.first.reserve(size_t{rows} + 1);
  uint64_t packets = 0;
  for (const uint32_t of_input : request.packets_of_input()) {
    relation.first.push_back(static_cast<uint32_t>(std::min(packets, outputs)));
    packets += of_input;
  }
  if (packets != outputs) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "outputs",
                        absl::StrCat("has ", outputs, " entries, and packets_of_input adds up to ",
                                     packets, "; give an output for each packet"));
  }
  relation.first.push_back(static_cast<uint32_t>(packets));
  relation.destinations.assign(request.outputs().begin(), request.outputs().end());
  return relation;
}

absl::StatusOr<Relation> RelationOf(const v1::RouteRequest& request, uint32_t rows,
                                    uint64_t most_packets) {
  if (!request.packets_of_input().empty() || !request.outputs().empty()) {
    if (!request.permutation().empty()) {
      return ErrorAtField(absl::StatusCode::kInvalidArgument, "permutation",
                          "is given, and packets_of_input or outputs too; give one of them");
    }
    return ListedRelation(request, rows, most_packets);
  }
  const uint32_t h = std::max(request.h(), 1u);
  if (uint64_t{h} * rows > most_packets) {
    return TooManyPackets("h", uint64_t{h} * rows, most_packets);
  }
  return RelationByName(request.permutation().empty() ? "random" : request.permutation(), rows, h,
                        request.seed());
}

// A number beyond what an int holds stays too large, and the program refuses it.
int ToInt(uint32_t value) { return static_cast<int>(std::min<uint32_t>(value, INT_MAX)); }

}  // namespace

absl::StatusOr<dataplane::RouteRequest> ToRouteRequest(const v1::RouteRequest& request,
                                                       uint32_t rows, uint64_t most_packets) {
  dataplane::RouteRequest out;
  absl::StatusOr<Relation> relation = RelationOf(request, rows, most_packets);
  if (!relation.ok()) return relation.status();
  out.relation = *std::move(relation);
  out.h = request.h();
  out.seed = request.seed();
  out.max_steps = request.max_steps();
  if (request.has_waves()) out.waves = request.waves();
  if (request.has_buffer()) out.buffer = request.buffer();
  out.queue_limit = request.queue_limit();
  if (!request.queue().empty()) {
    const absl::StatusOr<dataplane::QueueOrder> order =
        dataplane::QueueOrderFromName(request.queue());
    if (!order.ok()) {
      return ErrorAtField(order.status().code(), "queue", order.status().message());
    }
    out.order = *order;
  }
  const v1::RouteHRelation& given = request.h_relation();
  dataplane::HRelationConfig& config = out.h_relation;
  config.share = given.has_share() ? given.share() : std::min(config.share, rows);
  if (given.has_neighbours()) config.neighbours = ToInt(given.neighbours());
  if (given.has_iterations()) config.iterations = ToInt(given.iterations());
  if (given.has_rounds()) config.rounds = ToInt(given.rounds());
  return out;
}

absl::StatusOr<dataplane::RouteOptions> ToRouteOptions(const v1::RouteRequest& request) {
  dataplane::RouteOptions out;
  if (request.max_samples() != 0) {
    if (request.max_samples() < 2 || request.max_samples() > kMaxRouteSamples) {
      return OutOfRange("max_samples", request.max_samples(), 2, kMaxRouteSamples);
    }
    out.max_samples = request.max_samples();
  }
  if (request.has_level()) out.level = ToInt(request.level());
  out.frame_bytes = request.frame_bytes();
  return out;
}

v1::RouteReport MessageOf(const dataplane::RouteReport& report, absl::string_view program,
                          const Network& network) {
  v1::RouteReport out;
  out.set_program(std::string(program));
  out.set_network(std::string(KindName(network.kind())));
  out.set_rows(network.rows());
  out.set_packets(report.packets);
  out.set_delivered(report.delivered);
  out.set_left_out(report.left_out);
  out.mutable_faulty_inputs()->Add(report.faulty_inputs.begin(), report.faulty_inputs.end());
  out.mutable_faulty_outputs()->Add(report.faulty_outputs.begin(), report.faulty_outputs.end());
  out.set_faulty_switches(report.faulty_switches);
  out.set_finished(report.finished);
  out.set_trouble(report.trouble);
  out.set_steps(report.steps);
  out.set_phases(report.phases);
  for (const dataplane::WaveSummary& wave : report.waves) {
    v1::RouteWave& to = *out.add_waves();
    to.set_wave(wave.wave);
    to.set_packets(wave.packets);
    to.set_phases(wave.phases);
    to.set_steps(wave.steps);
  }
  out.set_mean_latency(report.mean_latency);
  out.set_max_latency(report.max_latency);
  out.set_congestion(report.congestion);
  for (size_t i = 0; i < report.levels.size(); ++i) {
    const dataplane::LevelWaits& level = report.levels[i];
    v1::RouteLevel& to = *out.add_levels();
    to.set_level(static_cast<uint32_t>(i));
    to.set_packets(level.packets);
    to.set_waited(level.waited);
    to.set_waited_steps(level.waited_steps);
    to.set_most_steps(level.most_steps);
    to.set_congestion(report.stage_congestion[i]);
  }
  const size_t levels = report.levels.size() + 1;
  const size_t rows = report.standing_of_level.size() / std::max<uint64_t>(report.samples, 1);
  for (size_t s = 0; s < report.samples; ++s) {
    v1::RouteSample& to = *out.add_samples();
    to.set_step(std::min(s * report.steps_a_sample, report.steps));
    const auto at = report.standing.begin() + static_cast<std::ptrdiff_t>(s * levels);
    to.mutable_levels()->Add(at, at + static_cast<std::ptrdiff_t>(levels));
    const auto row = report.standing_of_level.begin() + static_cast<std::ptrdiff_t>(s * rows);
    to.mutable_rows()->Add(row, row + static_cast<std::ptrdiff_t>(rows));
  }
  return out;
}

v1::RouteRecording MessageOf(const dataplane::RouteRecording& recording) {
  v1::RouteRecording out;
  const auto fill = [](const std::vector<uint32_t>& from,
                       google::protobuf::RepeatedField<uint32_t>* to) {
    to->Add(from.begin(), from.end());
  };
  fill(recording.inputs, out.mutable_inputs());
  fill(recording.outputs, out.mutable_outputs());
  fill(recording.begins, out.mutable_begins());
  fill(recording.links, out.mutable_links());
  fill(recording.steps, out.mutable_steps());
  fill(recording.ports, out.mutable_ports());
  fill(recording.rows, out.mutable_rows());
  return out;
}

}  // namespace bfly::control
