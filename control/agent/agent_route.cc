// SPDX-License-Identifier: Apache-2.0
// The call AgentService::Route.
#include <optional>

#include "control/agent/agent_service.h"
#include "control/agent/route_messages.h"
#include "control/status/grpc_status.h"
#include "dataplane/step_workers/step_programs.h"

namespace bfly::control {
namespace {

absl::StatusOr<v1::RouteReport> Run(const v1::RouteRequest& message, FabricHost& host,
                                    const std::function<bool()>& cancelled) {
  std::optional<FaultSet> faults;
  const absl::StatusOr<FabricInUse> loaded = host.Use(&faults);
  if (!loaded.ok()) return loaded.status();
  dataplane::Fabric& fabric = *loaded->fabric;
  const Network& network = fabric.network();
  const absl::StatusOr<dataplane::StepPrograms*> programs = fabric.step_programs();
  if (!programs.ok()) return programs.status();
  const absl::StatusOr<dataplane::RouteOptions> options = ToRouteOptions(message);
  if (!options.ok()) return options.status();
  const absl::StatusOr<dataplane::RouteRequest> request =
      ToRouteRequest(message, network.rows(), kMaxRoutePackets);
  if (!request.ok()) return request.status();
  const absl::StatusOr<dataplane::StepRun> run =
      (*programs)->Run(message.program(), *faults, *request, *options, cancelled);
  if (!run.ok()) return run.status();
  v1::RouteReport report = MessageOf(run->report, message.program(), network);
  v1::RouteInBand& in_band = *report.mutable_in_band();
  in_band.set_seconds(run->seconds);
  if (run->seconds > 0) {
    in_band.set_steps_per_second(static_cast<double>(run->report.steps_taken()) / run->seconds);
  }
  in_band.set_steps(run->report.steps_taken());
  in_band.set_barriers(run->barriers);
  in_band.set_barrier_seconds(run->barrier_seconds);
  in_band.set_workers(static_cast<uint32_t>(run->workers));
  if (run->frames.has_value()) {
    v1::RouteFrames& frames = *in_band.mutable_frames();
    frames.set_made(run->frames->made);
    frames.set_without_buffer(run->frames->without_buffer);
    frames.set_to_ports(run->frames->to_ports);
    frames.set_to_sinks(run->frames->to_sinks);
  }
  return report;
}

}  // namespace

grpc::Status AgentService::Route(grpc::ServerContext* context, const v1::RouteRequest* request,
                                 v1::RouteReport* response) {
  if (absl::Status status = CheckOwner(*context); !status.ok()) return ToGrpc(status);
  // gRPC cancels a call whose deadline is over.
  absl::StatusOr<v1::RouteReport> report =
      Run(*request, host_, [context] { return context->IsCancelled(); });
  if (!report.ok()) return ToGrpc(report.status());
  response->Swap(&*report);
  return grpc::Status::OK;
}

}  // namespace bfly::control
