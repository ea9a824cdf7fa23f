// SPDX-License-Identifier: Apache-2.0
// bfly.v1.DataServer over a Controller.
#pragma once

#include "bfly/v1/data_server.pb.h"
#include "control/controller/commit_queue.h"
#include "control/controller/controller.h"
#include "control/services/byte_service.h"

namespace bfly::control {

// Calls of one read and streams hold no thread while they wait, as in CircuitsService.
class DataServerService final : public ByteService {
 public:
  DataServerService(Controller& controller, CallDesk& desk);

  grpc::Status Place(const grpc::ServerContextBase*, const v1::PlaceRequest* request,
                     v1::PlaceResponse* response);
  void Request(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
               std::shared_ptr<const v1::ObjectRequest> request, grpc::ByteBuffer* answer);
  grpc::Status RequestBatch(const grpc::ServerContextBase*, const v1::ObjectBatchRequest* request,
                            v1::ObjectBatchResponse* response);
  void Release(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
               std::shared_ptr<const v1::ReleaseObjectRequest> request, grpc::ByteBuffer* answer);
  grpc::Status ReleaseBatch(const grpc::ServerContextBase* context,
                            const v1::ReleaseObjectsRequest* request,
                            v1::ReleaseObjectsResponse* response);
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Stream(
      grpc::CallbackServerContext* context);
  grpc::Status List(const grpc::ServerContextBase*, const v1::ListReadsRequest* request,
                    v1::ListReadsResponse* response);
  grpc::Status Status(const grpc::ServerContextBase*, const v1::DataServerStatusRequest* request,
                      v1::DataServerStatus* response);

 private:
  // The calls with in_band set.
  grpc::Status RequestInBand(const v1::ObjectRequest& request,
                             const InBandSession::Patience& patience, v1::ObjectResponse* response);
  grpc::Status RequestBatchInBand(const v1::ObjectBatchRequest& request,
                                  const InBandSession::Patience& patience,
                                  v1::ObjectBatchResponse* response);
  grpc::Status ReleaseInBand(const v1::ReleaseObjectRequest& request,
                             const InBandSession::Patience& patience,
                             v1::ReleaseObjectResponse* response);

  grpc::Status RequestBestEffort(const grpc::ServerContextBase* context,
                                 const v1::ObjectBatchRequest& request,
                                 v1::ObjectBatchResponse* response);

  Controller& controller_;
  CommitQueue& queue_;
};

}  // namespace bfly::control
