// SPDX-License-Identifier: Apache-2.0
// The call AgentService::ExchangeInBand.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/agent/agent_service.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"
#include "dataplane/core/percentile.h"
#include "dataplane/programs/registry.h"

namespace bfly::control {
namespace {

v1::AgentInBandPath::Choice ChoiceOf(dataplane::InBandChoice choice) {
  switch (choice) {
    case dataplane::InBandChoice::kP:
      return v1::AgentInBandPath::P;
    case dataplane::InBandChoice::kPPrime:
      return v1::AgentInBandPath::P_PRIME;
    case dataplane::InBandChoice::kOnly:
      return v1::AgentInBandPath::ONLY;
    case dataplane::InBandChoice::kArbitrary:
      return v1::AgentInBandPath::ARBITRARY;
  }
  return v1::AgentInBandPath::CHOICE_UNSPECIFIED;
}

void FillReport(const dataplane::InBandReport& report, v1::InBandReport* out) {
  out->set_messages(report.messages);
  out->set_install_messages(report.install_messages);
  out->set_forward_steps(report.steps.forward);
  out->set_backward_steps(report.steps.backward);
  out->set_install_steps(report.install_steps.forward + report.install_steps.backward);
  out->set_forward_seconds(report.forward_seconds);
  out->set_backward_seconds(report.backward_seconds);
  out->set_decide_seconds(report.decide_seconds);
  out->set_install_seconds(report.install_seconds);
  out->set_seconds(report.seconds);
  std::vector<double> set_ups = report.set_up_seconds;
  std::sort(set_ups.begin(), set_ups.end());
  out->set_set_up_p50_seconds(dataplane::PercentileOf(set_ups, 50));
  out->set_set_up_p99_seconds(dataplane::PercentileOf(set_ups, 99));
}

// Checks that `field` has as many entries as there are inputs, or none if it is optional.
void CheckCount(const char* field, int count, int inputs, bool optional, FieldErrors& errors) {
  if (count == inputs || (optional && count == 0)) return;
  errors.Add(field, absl::StrCat("has ", count, " entries and inputs ", inputs, "; give as many"));
}

// Each program has a case.
absl::StatusOr<dataplane::ProgramParameters> ToProgram(const v1::AgentInBandRequest& request) {
  switch (request.program_case()) {
    case v1::AgentInBandRequest::kCollision: {
      const v1::AgentCollisionParameters& collision = request.collision();
      return dataplane::CollisionParameters{
          .c = collision.c(), .c_disk = collision.c_disk(), .max_rounds = collision.max_rounds()};
    }
    case v1::AgentInBandRequest::kMinimum:
      return dataplane::MinimumParameters{.other_if_full = request.minimum().other_if_full()};
    case v1::AgentInBandRequest::PROGRAM_NOT_SET:
      break;
  }
  return ErrorAtField(absl::StatusCode::kInvalidArgument, "program",
                      absl::StrCat("is not one that this data plane knows; use ",
                                   absl::StrJoin(dataplane::ProgramNames(), " or ")));
}

absl::StatusOr<InBandTask> ToTask(const v1::AgentInBandRequest& request) {
  const int inputs = request.inputs_size();
  FieldErrors errors;
  CheckCount("outputs", request.outputs_size(), inputs, /*optional=*/false, errors);
  CheckCount("objects", request.objects_size(), inputs, /*optional=*/true, errors);
  CheckCount("second_outputs", request.second_outputs_size(), inputs, /*optional=*/true, errors);
  if (request.objects().empty() && !request.second_outputs().empty()) {
    errors.Add("second_outputs", "are given without objects; only reads have two outputs");
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  InBandTask task{.program = {},
                  .requests = {},
                  .reads = {},
                  .objects = {request.objects().begin(), request.objects().end()},
                  .release = {request.release().begin(), request.release().end()},
                  .base_revision = request.base_revision(),
                  .link_circuits = request.link_circuits()};
  if (inputs > 0) {
    const absl::StatusOr<dataplane::ProgramParameters> program = ToProgram(request);
    if (!program.ok()) return program.status();
    task.program = *program;
  }
  const bool two_copies = !request.second_outputs().empty();
  for (int i = 0; i < inputs; ++i) {
    if (request.objects().empty()) {
      task.requests.push_back({request.inputs(i), request.outputs(i)});
    } else {
      task.reads.push_back(
          {.user = request.inputs(i),
           .disks = {request.outputs(i), two_copies ? request.second_outputs(i) : Row{0}},
           .copies = two_copies ? 2 : 1});
    }
  }
  return task;
}

}  // namespace

grpc::Status AgentService::ExchangeInBand(grpc::ServerContext* context,
                                          const v1::AgentInBandRequest* request,
                                          v1::AgentInBandResponse* response) {
  if (absl::Status status = CheckOwner(*context); !status.ok()) return ToGrpc(status);
  const absl::StatusOr<InBandTask> task = ToTask(*request);
  if (!task.ok()) return ToGrpc(task.status());
  const absl::StatusOr<InBandAnswer> answer = host_.ExchangeInBand(*task);
  if (!answer.ok()) return ToGrpc(answer.status());
  const dataplane::InBandReport& report = answer->report;
  response->set_revision(answer->revision);
  for (const dataplane::InBandPath& path : report.paths) {
    v1::AgentInBandPath* out = response->add_paths();
    out->set_input(path.input);
    out->set_tag(path.tag);
    out->set_choice(ChoiceOf(path.choice));
  }
  response->set_rounds(report.rounds);
  response->mutable_left_per_round()->Assign(report.left_per_round.begin(),
                                             report.left_per_round.end());
  response->mutable_requests_left()->Assign(report.requests_left.begin(),
                                            report.requests_left.end());
  FillReport(report, response->mutable_report());
  if (report.refusal.has_value()) {
    const dataplane::InBandRefusal& refusal = *report.refusal;
    v1::AgentInBandRefusal* out = response->mutable_refusal();
    out->set_request(refusal.request);
    out->set_stage(static_cast<uint32_t>(refusal.link.stage));
    out->set_row(refusal.link.row);
    out->set_port(static_cast<uint32_t>(refusal.link.port));
    out->set_circuits(refusal.circuits);
    out->set_capacity(refusal.capacity);
    out->set_down(refusal.down);
  }
  response->mutable_link_circuits()->Assign(answer->link_circuits.begin(),
                                            answer->link_circuits.end());
  return grpc::Status::OK;
}

}  // namespace bfly::control
