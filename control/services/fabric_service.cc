// SPDX-License-Identifier: Apache-2.0
#include "control/services/fabric_service.h"

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "control/controller/faults.h"
#include "control/services/interrupt_of.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

// A client that asks for the primary role, for as long as its stream is open.
class ArbitrateStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit ArbitrateStream(Arbitration& arbitration) : arbitration_(arbitration) {
    StartRead(&bytes_);
  }

  void OnReadDone(bool ok) override {
    absl::Status status = absl::OkStatus();
    v1::ArbitrateRequest request;
    if (ok) status = ParseShort(bytes_, &request);
    bytes_.Clear();  // the stream may stay open for long
    if (ok && status.ok()) {
      status = arbitration_.Ask(
          this, request.election_id(),
          [this](bool primary, uint64_t primary_id) { Tell(primary, primary_id); });
    }
    if (ok && status.ok()) {
      StartRead(&bytes_);
    } else {
      End(status);
    }
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      End(absl::CancelledError("the client has gone"));
    }
    const std::lock_guard lock(mutex_);
    answers_.pop_front();
    Continue();
  }

  void OnCancel() override { End(absl::CancelledError("cancelled")); }

  void OnDone() override {
    arbitration_.Leave(this);
    delete this;
  }

 private:
  void Tell(bool primary, uint64_t primary_id) {
    const std::lock_guard lock(mutex_);
    if (ending_.has_value()) return;
    v1::ArbitrateResponse answer;
    answer.set_primary(primary);
    answer.set_election_id(primary_id);
    // A client that reads slowly needs only the newest news. The first message is being written.
    if (answers_.size() > 1) answers_.pop_back();
    answers_.push_back(Serialize(answer));
    if (answers_.size() == 1) Continue();
  }

  void End(const absl::Status& status) {
    arbitration_.Leave(this);
    const std::lock_guard lock(mutex_);
    if (ending_.has_value()) return;
    ending_ = status;
    if (answers_.empty()) Continue();
  }

  // Writes the next answer, or ends once nothing is being written.
  void Continue() {
    if (ending_.has_value()) {
      if (!std::exchange(finished_, true)) Finish(ToGrpc(*ending_));
    } else if (!answers_.empty()) {
      StartWrite(&answers_.front());
    }
  }

  Arbitration& arbitration_;
  grpc::ByteBuffer bytes_;                // of the read that is on
  std::mutex mutex_;                      // guards what follows
  std::deque<grpc::ByteBuffer> answers_;  // the first is being written
  std::optional<absl::Status> ending_;
  bool finished_ = false;
};

}  // namespace

FabricService::FabricService(Controller& controller, CounterPoll& poll, CallDesk& desk)
    : ByteService("bfly.v1.Fabric", desk), controller_(controller), poll_(poll) {
  using enum CallDesk::Lane;
  AddCall("Verify", kChange, &FabricService::Verify);
  AddCall("Load", kChange, &FabricService::Load);
  AddCall("Unload", kChange, &FabricService::Unload);
  AddCall("Describe", kRead, &FabricService::Describe);
  AddCall("Status", kRead, &FabricService::Status);
  AddCall("SetLinkState", kChange, &FabricService::SetLinkState);
  AddCall("SetNodeState", kChange, &FabricService::SetNodeState);
  AddCall("SetLinks", kChange, &FabricService::SetLinks);
  AddCall("GetLinks", kRead, &FabricService::GetLinks);
  AddCall("AddPort", kChange, &FabricService::AddPort);
  AddCall("RemovePort", kChange, &FabricService::RemovePort);
  AddCall("GetPorts", kRead, &FabricService::GetPorts);
  AddStream("Arbitrate", Role::kPrimary, [this](grpc::CallbackServerContext*) {
    return new ArbitrateStream(controller_.arbitration());
  });
}

grpc::Status FabricService::Verify(const grpc::ServerContextBase* context,
                                   const v1::VerifyRequest* request, v1::VerifyResponse*) {
  return ToGrpc(controller_.loader().Verify(request->topology(), AnswerDeadlineOf(context)));
}

grpc::Status FabricService::Load(const grpc::ServerContextBase* context,
                                 const v1::LoadRequest* request, v1::LoadResponse* response) {
  const Deadline deadline = AnswerDeadlineOf(context);
  auto kept = controller_.loader().Load(
      request->topology(), {.replace = request->replace(), .resume = request->resume()},
      request->election_id(), deadline);
  if (!kept.ok()) return ToGrpc(kept.status());
  if (kept->resumed.has_value()) *response->mutable_resumed() = *std::move(kept->resumed);
  if (kept->set_aside.has_value()) *response->mutable_set_aside() = *std::move(kept->set_aside);
  // The fabric is loaded, whether or not there is time left to read its counters.
  FillStatus(deadline, response->mutable_status());
  return grpc::Status::OK;
}

grpc::Status FabricService::Unload(const grpc::ServerContextBase* context,
                                   const v1::UnloadRequest* request, v1::UnloadResponse* response) {
  absl::StatusOr<v1::UnloadResponse> last =
      poll_.Unload(request->election_id(), AnswerDeadlineOf(context));
  if (!last.ok()) return ToGrpc(last.status());
  *response = *std::move(last);
  return grpc::Status::OK;
}

grpc::Status FabricService::Describe(const grpc::ServerContextBase*,
                                     const v1::DescribeRequest* request,
                                     v1::DescribeResponse* response) {
  absl::StatusOr<v1::DescribeResponse> description = controller_.Describe(request->links());
  if (!description.ok()) return ToGrpc(description.status());
  *response = *std::move(description);
  return grpc::Status::OK;
}

void FabricService::FillStatus(Deadline deadline, v1::FabricStatus* status) {
  *status = controller_.Status();
  for (const Resource* resource : controller_.resources().all()) {
    v1::ResourceUse* use = status->add_resources();
    use->set_name(resource->name());
    use->set_in_use(resource->in_use());
    use->set_limit(resource->limit());
    use->set_refused(resource->refused());
  }
  // A data plane that hangs must not take the time that the answer needs.
  const absl::StatusOr<PicturePtr> picture = poll_.Now(/*links=*/false, ShareOf(deadline, 2));
  if (!picture.ok()) return;
  *status->mutable_conservation() = (*picture)->conservation;
  std::map<std::string, const v1::AgentCounters*> counters;
  for (const Picture::Part& part : (*picture)->parts) counters[part.data_plane] = &part.counters;
  for (v1::DataPlaneStatus& plane : *status->mutable_data_planes()) {
    const auto nonsense = (*picture)->nonsense.find(plane.name());
    if (nonsense != (*picture)->nonsense.end() && plane.problem().empty()) {
      plane.set_problem(nonsense->second);
    }
    const auto found = counters.find(plane.name());
    if (plane.state() == v1::DataPlaneStatus::RUNNING && found != counters.end()) {
      *plane.mutable_workers() = found->second->workers();
      if (plane.problem().empty()) plane.set_problem(MemoryProblem(*found->second));
    }
  }
}

grpc::Status FabricService::Status(const grpc::ServerContextBase* context, const v1::StatusRequest*,
                                   v1::StatusResponse* response) {
  FillStatus(AnswerDeadlineOf(context), response->mutable_status());
  return grpc::Status::OK;
}

grpc::Status FabricService::SetLinkState(const grpc::ServerContextBase* context,
                                         const v1::SetLinkStateRequest* request,
                                         v1::SetLinkStateResponse*) {
  return ToGrpc(controller_.faults().Set(
      request->election_id(), [&](const Network& network) { return FaultOf(*request, network); },
      !request->up(), AnswerDeadlineOf(context)));
}

grpc::Status FabricService::SetNodeState(const grpc::ServerContextBase* context,
                                         const v1::SetNodeStateRequest* request,
                                         v1::SetNodeStateResponse*) {
  return ToGrpc(controller_.faults().Set(
      request->election_id(), [&](const Network& network) { return FaultOf(*request, network); },
      !request->up(), AnswerDeadlineOf(context)));
}

grpc::Status FabricService::SetLinks(const grpc::ServerContextBase* context,
                                     const v1::SetLinksRequest* request,
                                     v1::SetLinksResponse* response) {
  absl::StatusOr<v1::SetLinksResponse> links =
      controller_.links().Set(*request, AnswerDeadlineOf(context));
  if (!links.ok()) return ToGrpc(links.status());
  *response = *std::move(links);
  return grpc::Status::OK;
}

grpc::Status FabricService::GetLinks(const grpc::ServerContextBase*,
                                     const v1::GetLinksRequest* request,
                                     v1::GetLinksResponse* response) {
  absl::StatusOr<v1::GetLinksResponse> links = controller_.links().Get(*request);
  if (!links.ok()) return ToGrpc(links.status());
  *response = *std::move(links);
  return grpc::Status::OK;
}

grpc::Status FabricService::AddPort(const grpc::ServerContextBase* context,
                                    const v1::AddPortRequest* request,
                                    v1::AddPortResponse* response) {
  absl::StatusOr<v1::AddPortResponse> added =
      controller_.ports().Add(*request, AnswerDeadlineOf(context));
  if (!added.ok()) return ToGrpc(added.status());
  *response = *std::move(added);
  return grpc::Status::OK;
}

grpc::Status FabricService::RemovePort(const grpc::ServerContextBase* context,
                                       const v1::RemovePortRequest* request,
                                       v1::RemovePortResponse* response) {
  absl::StatusOr<v1::RemovePortResponse> removed =
      controller_.ports().Remove(*request, AnswerDeadlineOf(context));
  if (!removed.ok()) return ToGrpc(removed.status());
  *response = *std::move(removed);
  return grpc::Status::OK;
}

grpc::Status FabricService::GetPorts(const grpc::ServerContextBase*, const v1::GetPortsRequest*,
                                     v1::GetPortsResponse* response) {
  absl::StatusOr<v1::GetPortsResponse> ports = controller_.ports().Get();
  if (!ports.ok()) return ToGrpc(ports.status());
  *response = *std::move(ports);
  return grpc::Status::OK;
}

}  // namespace bfly::control
