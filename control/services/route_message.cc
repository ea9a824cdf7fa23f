// SPDX-License-Identifier: Apache-2.0
#include "control/services/route_message.h"

#include "control/protocols/set_up_steps.h"

namespace bfly::control {
namespace {

using Rows = google::protobuf::RepeatedField<uint32_t>;

void FillRows(const Network& network, Row input, Tag tag, Rows* out) {
  const std::vector<Row> rows = WalkTag(network, input, tag);
  out->Add(rows.begin(), rows.end());
}

// Fills in what both kinds of answer have under the same names.
template <typename Response>
void FillCommon(const Network& network, const RouteResult& route, Response* out) {
  out->set_rounds(route.rounds);
  out->mutable_stage_congestion()->Add(route.stage_congestion.begin(),
                                       route.stage_congestion.end());
  out->set_dilation(route.dilation);
  out->set_messages(route.messages);
  out->mutable_left_per_round()->Add(route.left_per_round.begin(), route.left_per_round.end());
  out->set_steps(SetUpSteps(network, route));
  out->set_c(route.c);
  out->set_circuits(route.paths.size());
  for (size_t stage = 0; stage < route.stage_load.size(); ++stage) {
    v1::StageLoad* load = out->add_stage_load();
    load->set_stage(static_cast<uint32_t>(stage));
    load->mutable_links()->Add(route.stage_load[stage].begin(), route.stage_load[stage].end());
  }
}

// Only for answers in which every request has a path, so that path i belongs to request i.
template <typename Response>
void FillBuddies(const Network& network, const RouteResult& route, Response* out) {
  for (size_t i = 0; i < route.buddies.size(); ++i) {
    const CircuitPath& path = route.paths[i];
    v1::Buddies* buddies = out->add_buddies();
    buddies->set_input(path.input);
    buddies->set_output(path.output);
    FillRows(network, path.input, route.buddies[i][0], buddies->mutable_p());
    FillRows(network, path.input, route.buddies[i][1], buddies->mutable_p_prime());
  }
}

}  // namespace

void FillRoute(const Network& network, const std::string& protocol, const RouteResult& route,
               bool summary, v1::RoutePermutationResponse* out) {
  out->set_protocol(protocol);
  out->set_congestion(route.congestion);
  FillCommon(network, route, out);
  out->mutable_requests_left()->Add(route.inputs_left.begin(), route.inputs_left.end());
  if (summary) return;
  for (const CircuitPath& path : route.paths) {
    v1::PermutationPath* to = out->add_paths();
    to->set_input(path.input);
    to->set_output(path.output);
    FillRows(network, path.input, path.tag, to->mutable_rows());
    to->set_choice(std::string(ChoiceName(path.choice)));
  }
  FillBuddies(network, route, out);
}

void FillObjectBatch(const Network& network, const DataServerResult& result,
                     const std::vector<uint64_t>& objects, bool summary,
                     v1::ObjectBatchResponse* out, const std::vector<uint64_t>& circuits) {
  const RouteResult& route = result.route;
  out->set_link_congestion(route.congestion);
  out->set_disk_contention(result.disk_contention);
  out->set_c_disk(result.c_disk);
  FillCommon(network, route, out);
  for (const uint32_t request : route.requests_left) {
    out->add_requests_left(route.paths[request].input);
  }
  if (summary) return;
  for (size_t i = 0; i < route.paths.size(); ++i) {
    const CircuitPath& path = route.paths[i];
    v1::ObjectPath* to = out->add_paths();
    to->set_input(path.input);
    to->set_output(path.output);
    FillRows(network, path.input, path.tag, to->mutable_rows());
    to->set_choice(std::string(ChoiceName(path.choice)));
    to->set_object(objects[i]);
    if (!circuits.empty()) to->set_circuit(circuits[i]);
  }
  FillBuddies(network, route, out);
}

}  // namespace bfly::control
