// SPDX-License-Identifier: Apache-2.0
// bfly.v1.DataServer over a Controller.
#pragma once

#include "bfly/v1/data_server.grpc.pb.h"
#include "control/services/controller.h"

namespace bfly::control {

class DataServerService final : public v1::DataServer::Service {
 public:
  explicit DataServerService(Controller& controller) : controller_(controller) {}

  grpc::Status Place(grpc::ServerContext*, const v1::PlaceRequest* request,
                     v1::PlaceResponse* response) override;
  grpc::Status Request(grpc::ServerContext*, const v1::ObjectRequest* request,
                       v1::ObjectResponse* response) override;
  grpc::Status RequestBatch(grpc::ServerContext*, const v1::ObjectBatchRequest* request,
                            v1::ObjectBatchResponse* response) override;
  grpc::Status Release(grpc::ServerContext*, const v1::ReleaseObjectRequest* request,
                       v1::ReleaseObjectResponse* response) override;
  grpc::Status Status(grpc::ServerContext*, const v1::DataServerStatusRequest* request,
                      v1::DataServerStatus* response) override;

 private:
  // The calls with in_band set.
  grpc::Status RequestInBand(const v1::ObjectRequest& request, v1::ObjectResponse* response);
  grpc::Status RequestBatchInBand(const v1::ObjectBatchRequest& request,
                                  v1::ObjectBatchResponse* response);
  grpc::Status ReleaseInBand(const v1::ReleaseObjectRequest& request,
                             v1::ReleaseObjectResponse* response);

  Controller& controller_;
};

}  // namespace bfly::control
