// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Circuits over a Controller.
#pragma once

#include "bfly/v1/circuits.grpc.pb.h"
#include "control/services/controller.h"
#include "control/services/order_queue.h"
#include "control/services/watch_writer.h"

namespace bfly::control {

// Calls of one circuit and streams hold no thread while they wait; the others do, and there are few
// at a time.
using CircuitsBase =
    v1::Circuits::WithCallbackMethod_SetUp<v1::Circuits::WithCallbackMethod_Release<
        v1::Circuits::WithCallbackMethod_Move<v1::Circuits::WithCallbackMethod_Stream<
            v1::Circuits::WithCallbackMethod_Watch<v1::Circuits::Service>>>>>;

class CircuitsService final : public CircuitsBase {
 public:
  explicit CircuitsService(Controller& controller) : controller_(controller), queue_(controller) {}

  using CircuitsBase::Move;
  using CircuitsBase::Release;
  using CircuitsBase::SetUp;
  using CircuitsBase::Stream;
  using CircuitsBase::Watch;
  grpc::ServerUnaryReactor* SetUp(grpc::CallbackServerContext* context,
                                  const v1::SetUpRequest* request,
                                  v1::SetUpResponse* response) override;
  grpc::ServerUnaryReactor* Release(grpc::CallbackServerContext* context,
                                    const v1::ReleaseRequest* request,
                                    v1::ReleaseResponse* response) override;
  grpc::ServerUnaryReactor* Move(grpc::CallbackServerContext* context,
                                 const v1::MoveRequest* request,
                                 v1::MoveResponse* response) override;
  grpc::Status List(grpc::ServerContext*, const v1::ListRequest* request,
                    v1::ListResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchResponse>* Watch(grpc::CallbackServerContext*,
                                                     const v1::WatchRequest* request) override;
  grpc::Status SetUpBatch(grpc::ServerContext* context, const v1::SetUpBatchRequest* request,
                          v1::SetUpBatchResponse* response) override;
  grpc::ServerBidiReactor<v1::CircuitOperation, v1::CircuitResult>* Stream(
      grpc::CallbackServerContext* context) override;
  grpc::Status RoutePermutation(grpc::ServerContext* context,
                                const v1::RoutePermutationRequest* request,
                                v1::RoutePermutationResponse* response) override;

 private:
  grpc::Status SetUpInBand(const v1::SetUpRequest& request, const Interrupt& interrupt,
                           v1::SetUpResponse* response);
  grpc::Status ReleaseInBand(const v1::ReleaseRequest& request, const Interrupt& interrupt,
                             v1::ReleaseResponse* response);
  grpc::Status RoutePermutationInBand(const v1::RoutePermutationRequest& request,
                                      const Interrupt& interrupt,
                                      v1::RoutePermutationResponse* response);

  Controller& controller_;
  OrderQueue queue_;
  WatchWriter writer_;
};

}  // namespace bfly::control
