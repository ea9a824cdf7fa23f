// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Circuits over a Controller.
#pragma once

#include "bfly/v1/circuits.grpc.pb.h"
#include "control/services/controller.h"

namespace bfly::control {

class CircuitsService final : public v1::Circuits::Service {
 public:
  explicit CircuitsService(Controller& controller) : controller_(controller) {}

  grpc::Status SetUp(grpc::ServerContext*, const v1::SetUpRequest* request,
                     v1::SetUpResponse* response) override;
  grpc::Status Release(grpc::ServerContext*, const v1::ReleaseRequest* request,
                       v1::ReleaseResponse* response) override;
  grpc::Status List(grpc::ServerContext*, const v1::ListRequest* request,
                    v1::ListResponse* response) override;
  grpc::Status SetUpBatch(grpc::ServerContext*, const v1::SetUpBatchRequest* request,
                          v1::SetUpBatchResponse* response) override;
  grpc::Status Stream(grpc::ServerContext*,
                      grpc::ServerReaderWriter<v1::CircuitResult, v1::CircuitOperation>*) override;
  grpc::Status RoutePermutation(grpc::ServerContext*, const v1::RoutePermutationRequest* request,
                                v1::RoutePermutationResponse* response) override;

 private:
  absl::Status ExecuteOne(const absl::StatusOr<Order>& order, uint64_t election_id,
                          v1::Circuit* circuit);

  grpc::Status SetUpInBand(const v1::SetUpRequest& request, v1::SetUpResponse* response);
  grpc::Status ReleaseInBand(const v1::ReleaseRequest& request, v1::ReleaseResponse* response);
  grpc::Status RoutePermutationInBand(const v1::RoutePermutationRequest& request,
                                      v1::RoutePermutationResponse* response);

  Controller& controller_;
};

}  // namespace bfly::control
