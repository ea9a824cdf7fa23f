// SPDX-License-Identifier: Apache-2.0
// DataServerService: lists of reads, and batches whose reads are served one by one.
#include <chrono>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "control/intent/execute.h"
#include "control/services/data_server_service.h"
#include "control/services/interrupt_of.h"
#include "control/services/read_messages.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

constexpr uint32_t kDefaultReadsPage = 1000;
constexpr uint32_t kMaxReadsPage = 10'000;

void AddError(size_t index, Row user, const absl::Status& status, v1::ReadError* error) {
  error->set_index(static_cast<uint32_t>(index));
  error->set_user(user);
  error->set_code(static_cast<int>(status.code()));
  error->set_message(std::string(status.message()));
}

}  // namespace

grpc::Status DataServerService::RequestBestEffort(const grpc::ServerContextBase* context,
                                                  const v1::ObjectBatchRequest& request,
                                                  v1::ObjectBatchResponse* response) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Order> orders;
  orders.reserve(request.users_size());
  for (int i = 0; i < request.users_size(); ++i) {
    orders.emplace_back().what = ReadOrder{request.users(i), request.objects(i)};
  }
  absl::StatusOr<SingleReadsOutcome> served = absl::UnknownError("");
  std::shared_ptr<const Network> network;
  const absl::Status status =
      controller_.Commit(request.election_id(), AnswerDeadlineOf(context), [&](FabricState& state) {
        network = state.shared_network();
        served = ExecuteReads(state, orders, request.idempotency_key(),
                              InterruptOf(context, /*answer_in_time=*/true));
      });
  if (!status.ok()) return ToGrpc(status);
  if (!served.ok()) return ToGrpc(served.status());
  uint64_t circuits = 0;
  for (size_t i = 0; i < served->reads.size(); ++i) {
    const Outcome& outcome = served->reads[i];
    if (!outcome.ok()) {
      AddError(i, request.users(static_cast<int>(i)), outcome.status(), response->add_errors());
      continue;
    }
    ++circuits;
    if (!request.summary()) FillObjectPath(*network, *outcome, response->add_paths());
  }
  response->set_protocol(request.protocol());
  response->set_circuits(circuits);
  response->set_link_congestion(served->link_congestion);
  response->set_disk_contention(served->disk_contention);
  response->set_seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return grpc::Status::OK;
}

grpc::Status DataServerService::ReleaseBatch(const grpc::ServerContextBase* context,
                                             const v1::ReleaseObjectsRequest* request,
                                             v1::ReleaseObjectsResponse* response) {
  if (absl::Status status = CheckBatch(*request, controller_.resources().batch); !status.ok())
    return ToGrpc(status);
  absl::StatusOr<std::vector<Outcome>> outcomes = absl::UnknownError("");
  std::vector<Row> users;
  const absl::Status status = controller_.Commit(
      request->election_id(), AnswerDeadlineOf(context), [&](FabricState& state) {
        users.assign(request->users().begin(), request->users().end());
        if (request->all()) users = state.standing().Readers();
        std::vector<Order> orders;
        for (const Row user : users) orders.emplace_back().what = StopReadingOrder{user};
        outcomes = ExecuteBatch(state, orders, !request->best_effort(), request->idempotency_key(),
                                InterruptOf(context, request->best_effort()));
      });
  if (!status.ok()) return ToGrpc(status);
  if (!outcomes.ok()) return ToGrpc(outcomes.status());
  uint64_t released = 0;
  for (size_t i = 0; i < outcomes->size(); ++i) {
    if ((*outcomes)[i].ok()) {
      ++released;
    } else {
      AddError(i, users[i], (*outcomes)[i].status(), response->add_errors());
    }
  }
  response->set_released(released);
  return grpc::Status::OK;
}

grpc::Status DataServerService::List(const grpc::ServerContextBase*,
                                     const v1::ListReadsRequest* request,
                                     v1::ListReadsResponse* response) {
  absl::Status listed;
  const absl::Status status = controller_.Read([&](const FabricState& state) {
    const Row last = state.network().rows() - 1;
    FieldErrors errors;
    if (request->has_user() && request->user() > last) {
      errors.Add(OutOfRange("user", request->user(), 0, last));
    }
    if (request->has_disk() && request->disk() > last) {
      errors.Add(OutOfRange("disk", request->disk(), 0, last));
    }
    if (request->page_size() > kMaxReadsPage) {
      errors.Add(OutOfRange("page_size", request->page_size(), 0, kMaxReadsPage));
    }
    Row from = 0;
    if (!request->page_token().empty() && !absl::SimpleAtoi(request->page_token(), &from)) {
      errors.Add("page_token", "is not one that List gave");
    }
    listed = errors.ToStatus();
    if (!listed.ok()) return;
    const uint32_t page = request->page_size() == 0 ? kDefaultReadsPage : request->page_size();
    uint64_t total = 0;
    for (const Row user : state.standing().Readers()) {
      const StandingCircuit read = *state.AtInput(user);
      if ((request->has_user() && request->user() != user) ||
          (request->has_object() && request->object() != *read.object) ||
          (request->has_disk() && request->disk() != read.path.output)) {
        continue;
      }
      ++total;
      if (user < from) continue;
      if (static_cast<uint32_t>(response->reads_size()) < page) {
        FillObjectPath(state.network(), read, response->add_reads());
      } else if (response->next_page_token().empty()) {
        response->set_next_page_token(absl::StrCat(user));
      }
    }
    response->set_total(total);
  });
  return ToGrpc(status.ok() ? listed : status);
}

}  // namespace bfly::control
