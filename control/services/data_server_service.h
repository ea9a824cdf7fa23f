// SPDX-License-Identifier: Apache-2.0
// bfly.v1.DataServer over a Controller.
#pragma once

#include "bfly/v1/data_server.grpc.pb.h"
#include "control/services/controller.h"
#include "control/services/order_queue.h"

namespace bfly::control {

// Calls of one read and streams hold no thread while they wait, as in CircuitsService.
using DataServerBase =
    v1::DataServer::WithCallbackMethod_Request<v1::DataServer::WithCallbackMethod_Release<
        v1::DataServer::WithCallbackMethod_Stream<v1::DataServer::Service>>>;

class DataServerService final : public DataServerBase {
 public:
  explicit DataServerService(Controller& controller)
      : controller_(controller), queue_(controller) {}

  using DataServerBase::Release;
  using DataServerBase::Request;
  using DataServerBase::Stream;

  grpc::Status Place(grpc::ServerContext*, const v1::PlaceRequest* request,
                     v1::PlaceResponse* response) override;
  grpc::ServerUnaryReactor* Request(grpc::CallbackServerContext* context,
                                    const v1::ObjectRequest* request,
                                    v1::ObjectResponse* response) override;
  grpc::Status RequestBatch(grpc::ServerContext*, const v1::ObjectBatchRequest* request,
                            v1::ObjectBatchResponse* response) override;
  grpc::ServerUnaryReactor* Release(grpc::CallbackServerContext* context,
                                    const v1::ReleaseObjectRequest* request,
                                    v1::ReleaseObjectResponse* response) override;
  grpc::Status ReleaseBatch(grpc::ServerContext* context, const v1::ReleaseObjectsRequest* request,
                            v1::ReleaseObjectsResponse* response) override;
  grpc::ServerBidiReactor<v1::ObjectOperation, v1::ObjectResult>* Stream(
      grpc::CallbackServerContext* context) override;
  grpc::Status List(grpc::ServerContext*, const v1::ListReadsRequest* request,
                    v1::ListReadsResponse* response) override;
  grpc::Status Status(grpc::ServerContext*, const v1::DataServerStatusRequest* request,
                      v1::DataServerStatus* response) override;

 private:
  // The calls with in_band set.
  grpc::Status RequestInBand(const v1::ObjectRequest& request, const Interrupt& interrupt,
                             v1::ObjectResponse* response);
  grpc::Status RequestBatchInBand(const v1::ObjectBatchRequest& request, const Interrupt& interrupt,
                                  v1::ObjectBatchResponse* response);
  grpc::Status ReleaseInBand(const v1::ReleaseObjectRequest& request, const Interrupt& interrupt,
                             v1::ReleaseObjectResponse* response);

  grpc::Status RequestBestEffort(grpc::ServerContext* context,
                                 const v1::ObjectBatchRequest& request,
                                 v1::ObjectBatchResponse* response);

  Controller& controller_;
  OrderQueue queue_;
};

}  // namespace bfly::control
