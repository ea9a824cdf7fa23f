// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Circuits over a Controller.
#pragma once

#include "bfly/v1/circuits.pb.h"
#include "control/controller/commit_queue.h"
#include "control/controller/controller.h"
#include "control/services/byte_service.h"
#include "control/services/watch_writer.h"

namespace bfly::control {

// Calls of one circuit and streams hold no thread while they wait; the others are carried out by
// the threads of the desk.
class CircuitsService final : public ByteService {
 public:
  CircuitsService(Controller& controller, CallDesk& desk);

  void SetUp(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
             std::shared_ptr<const v1::SetUpRequest> request, grpc::ByteBuffer* answer);
  void Release(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
               std::shared_ptr<const v1::ReleaseRequest> request, grpc::ByteBuffer* answer);
  void Move(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
            std::shared_ptr<const v1::MoveRequest> request, grpc::ByteBuffer* answer);
  grpc::Status List(const grpc::ServerContextBase*, const v1::ListRequest* request,
                    v1::ListResponse* response);
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer& request);
  grpc::Status SetUpBatch(const grpc::ServerContextBase* context,
                          const v1::SetUpBatchRequest* request, v1::SetUpBatchResponse* response);
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Stream(
      grpc::CallbackServerContext* context);
  grpc::Status RoutePermutation(const grpc::ServerContextBase* context,
                                const v1::RoutePermutationRequest* request,
                                v1::RoutePermutationResponse* response);

 private:
  grpc::Status SetUpInBand(const v1::SetUpRequest& request, const InBandSession::Patience& patience,
                           v1::SetUpResponse* response);
  grpc::Status ReleaseInBand(const v1::ReleaseRequest& request,
                             const InBandSession::Patience& patience,
                             v1::ReleaseResponse* response);
  grpc::Status RoutePermutationInBand(const v1::RoutePermutationRequest& request,
                                      const InBandSession::Patience& patience,
                                      v1::RoutePermutationResponse* response);

  Controller& controller_;
  CommitQueue& queue_;
  WatchWriter writer_;
};

}  // namespace bfly::control
