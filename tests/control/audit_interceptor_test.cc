// SPDX-License-Identifier: Apache-2.0
// The lines that calls leave in the audit log.
#include "control/access/audit_interceptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "bfly/v1/circuits.grpc.pb.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/server/grpc_server.h"
#include "control/services/byte_service.h"
#include "tests/control/audit_fixture.h"

namespace bfly::control {
namespace {

// Services of one call.
class Unloads final : public ByteService {
 public:
  explicit Unloads(CallDesk& desk) : ByteService("bfly.v1.Fabric", desk) {
    AddCall("Unload", CallDesk::Lane::kChange, &Unloads::Unload);
  }
  grpc::Status Unload(const grpc::ServerContextBase*, const v1::UnloadRequest*,
                      v1::UnloadResponse*) {
    return {grpc::StatusCode::PERMISSION_DENIED, "9223372036854788153 is not 9223372036854775808"};
  }
};

class SetUps final : public ByteService {
 public:
  explicit SetUps(CallDesk& desk) : ByteService("bfly.v1.Circuits", desk) {
    AddCall("SetUpBatch", CallDesk::Lane::kChange, &SetUps::SetUpBatch);
  }
  grpc::Status SetUpBatch(const grpc::ServerContextBase*, const v1::SetUpBatchRequest*,
                          v1::SetUpBatchResponse*) {
    return grpc::Status::OK;
  }
};

TEST_F(AuditTest, TheIdOfTheOwnerIsNotInTheFile) {
  const uint64_t owners = (uint64_t{1} << 63) + 12'345;
  {
    const auto log = AuditLog::Open(path_);
    ASSERT_TRUE(log.ok());
    Gate gate{AccessRules()};
    Resources resources;
    CallDesk desk(resources, &gate);
    Unloads unloads(desk);
    SetUps set_ups(desk);
    GrpcServer::Options options;
    options.gate = &gate;
    options.audit = log->get();
    const auto server = GrpcServer::Start(options, {&unloads, &set_ups});
    ASSERT_TRUE(server.ok()) << server.status();
    const auto channel = (*server)->ConnectAs({Role::kOperator, "bob", "bob"});
    for (const uint64_t id : {owners, uint64_t{7}}) {
      grpc::ClientContext context[2];
      v1::UnloadRequest unload;
      unload.set_election_id(id);
      v1::UnloadResponse ended;
      EXPECT_FALSE(v1::Fabric::NewStub(channel)->Unload(&context[0], unload, &ended).ok());
      v1::SetUpBatchRequest batch;
      batch.add_requests()->set_input(3);
      batch.mutable_requests(0)->set_election_id(id);
      v1::SetUpBatchResponse results;
      EXPECT_TRUE(v1::Circuits::NewStub(channel)->SetUpBatch(&context[1], batch, &results).ok());
    }
  }
  std::vector<std::string> requests;
  for (const auto& line : Lines(path_)) requests.push_back(line["request"]);
  EXPECT_THAT(requests,
              testing::ElementsAre("election_id: (the owner's)",
                                   "election_id: (the owner's) requests { input: 3 }",
                                   "election_id: 7", "requests { input: 3 election_id: 7 }"));
  // A client may have 2^63.
  EXPECT_EQ(Lines(path_)[0]["error"], "(the owner's) is not 9223372036854775808");
  std::ifstream file(path_);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text.find("9223372036854788153"), std::string::npos);  // 2^63 + 12345
}

}  // namespace
}  // namespace bfly::control
