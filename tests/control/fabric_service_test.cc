// SPDX-License-Identifier: Apache-2.0
// Loading, describing and arbitrating over real gRPC, with a client, a controller and agents.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>

#include <mutex>

#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FabricServiceTest : public testing::Test {
 protected:
  std::unique_ptr<TestAgent> Agent(const std::string& name) {
    return std::make_unique<TestAgent>(directory_.path(), name, FakeBackend(board_, name));
  }
  absl::Status Verify(TestController& controller, const v1::Topology& topology) {
    v1::VerifyRequest request;
    *request.mutable_topology() = topology;
    return Call(*controller.fabric, &v1::Fabric::Stub::Verify, request).status();
  }

  FakeBoard board_;
  TemporaryFolder directory_;
};

TEST_F(FabricServiceTest, NothingLoadedSaysSoEverywhere) {
  TestController controller(directory_.path());
  EXPECT_FALSE(StatusOf(controller).loaded());
  const auto code = [](const auto& response) { return response.status().code(); };
  constexpr auto kExpected = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(code(SetUpCircuit(controller, 0, 1)), kExpected);
  EXPECT_EQ(code(ReleaseCircuit(controller, 1)), kExpected);
  EXPECT_EQ(code(Call(*controller.circuits, &v1::Circuits::Stub::List, v1::ListRequest())),
            kExpected);
  EXPECT_EQ(code(Call(*controller.fabric, &v1::Fabric::Stub::Describe, v1::DescribeRequest())),
            kExpected);
  EXPECT_EQ(code(Call(*controller.fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest())),
            kExpected);
  EXPECT_EQ(code(Call(*controller.telemetry, &v1::Telemetry::Stub::GetCounters,
                      v1::GetCountersRequest())),
            kExpected);
  EXPECT_EQ(code(Call(*controller.traffic, &v1::Traffic::Stub::Stop, v1::StopTrafficRequest())),
            kExpected);
}

TEST_F(FabricServiceTest, ALoadedFabricRunsAndIsDescribed) {
  auto agent = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  const v1::FabricStatus status = StatusOf(controller);
  EXPECT_TRUE(status.loaded());
  EXPECT_EQ(status.kind(), "two_fold_butterfly");
  EXPECT_EQ(status.rows(), 16u);
  EXPECT_EQ(status.stages(), 8u);
  ASSERT_EQ(status.data_planes_size(), 1);
  EXPECT_EQ(status.data_planes(0).state(), v1::DataPlaneStatus::RUNNING);
  EXPECT_EQ(status.data_planes(0).dpdk_version(), "DPDK of the test");

  v1::DescribeRequest request;
  request.set_links(true);
  const auto description = Call(*controller.fabric, &v1::Fabric::Stub::Describe, request);
  ASSERT_TRUE(description.ok());
  EXPECT_EQ(description->link_count(), 256u);  // 8 stages, 16 rows, 2 ports
  EXPECT_EQ(description->links_size(), 256);
  EXPECT_EQ(description->levels(), 9u);
}

TEST_F(FabricServiceTest, AnotherFabricNeedsReplace) {
  auto agent = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  ASSERT_TRUE(SetUpCircuit(controller, 3, 5).ok());
  v1::Topology other = SmallTopology(false, 8);
  const absl::Status refused = Load(controller, other);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FieldsOf(refused), ElementsAre("replace"));
  EXPECT_EQ(StatusOf(controller).circuits(), 1u);

  ASSERT_TRUE(Load(controller, other, /*replace=*/true).ok());
  EXPECT_EQ(StatusOf(controller).rows(), 8u);
  EXPECT_EQ(StatusOf(controller).circuits(), 0u);
  ExpectCountsEqualRecount(controller, agent.get());
}

TEST_F(FabricServiceTest, EveryErrorOfATopologyIsNamedAndNothingIsChanged) {
  auto agent = Agent("dp0");
  TestController controller(directory_.path());
  v1::Topology wrong = SmallTopology();
  wrong.mutable_network()->set_rows(12);
  wrong.set_max_frame_bytes(20);
  for (const absl::Status& status : {Verify(controller, wrong), Load(controller, wrong)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(FieldsOf(status), Contains("topology.network.rows"));
    EXPECT_THAT(FieldsOf(status), Contains("topology.max_frame_bytes"));
  }
  EXPECT_THAT(board_.TakeLog(), IsEmpty());
}

TEST_F(FabricServiceTest, VerifyAsksEveryDataPlanesMachineAndLoadsNothing) {
  auto dp0 = Agent("dp0");
  auto dp1 = Agent("dp1");
  TestController controller(directory_.path());
  v1::Topology topology = SmallTopology(/*split=*/true);
  EXPECT_TRUE(Verify(controller, topology).ok());
  {
    const std::lock_guard lock(board_.mutex);
    board_.missing_lcores = {9};
  }
  topology.mutable_placement(1)->set_lcore(9);
  const absl::Status status = Verify(controller, topology);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(FieldsOf(status).size(), 1u);
  EXPECT_THAT(std::string(status.message()), HasSubstr("9 is not a CPU of this machine"));
  EXPECT_THAT(board_.TakeLog(), IsEmpty());
}

TEST_F(FabricServiceTest, ADataPlaneThatIsNotThereIsUnavailable) {
  auto dp0 = Agent("dp0");
  TestController controller(directory_.path());
  const absl::Status status = Load(controller, SmallTopology(/*split=*/true));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("dp1"));
  EXPECT_FALSE(StatusOf(controller).loaded());
  EXPECT_FALSE(dp0->host().held(false).loaded);
}

TEST_F(FabricServiceTest, IfOneDataPlaneCannotLoadTheOthersAreUnloadedAgain) {
  auto dp0 = Agent("dp0");
  auto dp1 = Agent("dp1");
  TestController controller(directory_.path());
  {
    const std::lock_guard lock(board_.mutex);
    board_.refused_planes = {"dp1"};
  }
  const absl::Status status = Load(controller, SmallTopology(/*split=*/true));
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("dp1"));
  EXPECT_FALSE(StatusOf(controller).loaded());
  EXPECT_FALSE(dp0->host().held(false).loaded);
  EXPECT_THAT(board_.TakeLog(), ElementsAre("load dp0", "unload dp0", "read dp0"));
}

TEST_F(FabricServiceTest, IfAReplacementCannotBeLoadedTheOldFabricRunsAgainWithItsCircuits) {
  auto dp0 = Agent("dp0");
  auto dp1 = Agent("dp1");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  const auto circuit = SetUpCircuit(controller, 3, 5);
  ASSERT_TRUE(circuit.ok());
  {
    const std::lock_guard lock(board_.mutex);
    board_.refused_planes = {"dp1"};
  }
  EXPECT_FALSE(Load(controller, SmallTopology(/*split=*/true), /*replace=*/true).ok());
  ASSERT_EQ(List(controller).size(), 1u);
  EXPECT_EQ(List(controller)[0].id(), circuit->circuit().id());
  ExpectCountsEqualRecount(controller, dp0.get());
  EXPECT_TRUE(SetUpCircuit(controller, 4, 6).ok());
}

TEST_F(FabricServiceTest, UnloadingTellsTheLastAccount) {
  auto dp0 = Agent("dp0");
  auto dp1 = Agent("dp1");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology(/*split=*/true)).ok());
  {
    // 100 in, 60 handed on; 58 of them arrived at dp1, 2 were on the trunk.
    const std::lock_guard lock(board_.mutex);
    board_.figures["dp0"].conservation = {
        .injected = 100, .delivered = 30, .dropped = 10, .in_flight = 0};
    board_.figures["dp0"].trunk_out = 60;
    board_.figures["dp1"].conservation = {
        .injected = 0, .delivered = 50, .dropped = 8, .in_flight = 0};
    board_.figures["dp1"].trunk_in = 58;
  }
  const auto last = Call(*controller.fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest());
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->conservation().injected(), 100u);
  EXPECT_EQ(last->conservation().delivered(), 80u);
  EXPECT_EQ(last->conservation().dropped(), 20u);  // 10 + 8 + the 2 that were on the trunk
  EXPECT_EQ(last->conservation().in_flight(), 0u);
  EXPECT_FALSE(StatusOf(controller).loaded());
  EXPECT_FALSE(dp1->host().held(false).loaded);
}

TEST_F(FabricServiceTest, ALinkIsTakenDownWhereItsStageRuns) {
  auto dp0 = Agent("dp0");
  auto dp1 = Agent("dp1");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology(/*split=*/true)).ok());
  v1::SetLinkStateRequest request;
  request.set_stage(5);
  request.set_row(3);
  request.set_port(1);
  ASSERT_TRUE(Call(*controller.fabric, &v1::Fabric::Stub::SetLinkState, request).ok());
  EXPECT_THAT(dp0->host().held(true).down_links, IsEmpty());
  EXPECT_THAT(dp1->host().held(true).down_links, ElementsAre(LinkId{5, 3, 1}));

  request.set_stage(8);
  request.set_row(16);
  request.set_port(2);
  const absl::Status status =
      Call(*controller.fabric, &v1::Fabric::Stub::SetLinkState, request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status), ElementsAre("stage", "row", "port"));
}

TEST_F(FabricServiceTest, TrafficIsCheckedBeforeItStarts) {
  auto agent = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  v1::StartTrafficRequest request;
  EXPECT_THAT(FieldsOf(Call(*controller.traffic, &v1::Traffic::Stub::Start, request).status()),
              ElementsAre("sources"));
  v1::TrafficSource* source = request.add_sources();
  source->set_rows("0-99");
  source->set_bytes(12);
  source->set_packets_per_second(-1);
  source->set_destination(v1::TrafficSource::ROW);
  source->set_row(16);
  const absl::Status status =
      Call(*controller.traffic, &v1::Traffic::Stub::Start, request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status), ElementsAre("sources[0].rows", "sources[0].packets_per_second",
                                            "sources[0].bytes", "sources[0].row"));
  EXPECT_THAT(agent->host().held(true).sources, IsEmpty());

  source->Clear();
  source->set_rows("4-15");
  ASSERT_TRUE(Call(*controller.traffic, &v1::Traffic::Stub::Start, request).ok());
  EXPECT_EQ(agent->host().held(true).sources.size(), 1u);
  ASSERT_TRUE(Call(*controller.traffic, &v1::Traffic::Stub::Stop, v1::StopTrafficRequest()).ok());
  EXPECT_THAT(agent->host().held(true).sources, IsEmpty());
}

// A client on an Arbitrate stream.
class Contender {
 public:
  explicit Contender(TestController& controller) {
    SetDeadline(context_);
    stream_ = controller.fabric->Arbitrate(&context_);
  }
  void Ask(uint64_t id) {
    v1::ArbitrateRequest request;
    request.set_election_id(id);
    stream_->Write(request);
  }
  // The next news: whether this client is primary, and who is.
  std::pair<bool, uint64_t> Hear() {
    v1::ArbitrateResponse response;
    EXPECT_TRUE(stream_->Read(&response));
    return {response.primary(), response.election_id()};
  }
  absl::Status Leave() {
    stream_->WritesDone();
    return FromGrpc(stream_->Finish());
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ArbitrateRequest, v1::ArbitrateResponse>> stream_;
};

TEST_F(FabricServiceTest, OnlyThePrimaryMayChangeTheFabric) {
  auto agent = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  const auto before = SetUpCircuit(controller, 0, 0);
  ASSERT_TRUE(before.ok());

  Contender first(controller);
  first.Ask(5);
  EXPECT_EQ(first.Hear(), std::pair(true, uint64_t{5}));
  EXPECT_EQ(SetUpCircuit(controller, 1, 1).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(SetUpCircuit(controller, 1, 1, 5).ok());

  Contender second(controller);
  second.Ask(9);
  EXPECT_EQ(second.Hear(), std::pair(true, uint64_t{9}));
  EXPECT_EQ(first.Hear(), std::pair(false, uint64_t{9}));
  EXPECT_EQ(StatusOf(controller).primary_election_id(), 9u);

  // The id of the former primary is stale now, in every call that changes something.
  const auto denied = [](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(FieldsOf(status), ElementsAre("election_id"));
  };
  denied(SetUpCircuit(controller, 2, 2, 5).status());
  denied(ReleaseCircuit(controller, before->circuit().id(), 5).status());
  denied(Load(controller, SmallTopology(), true, 5));
  v1::UnloadRequest unload;
  unload.set_election_id(5);
  denied(Call(*controller.fabric, &v1::Fabric::Stub::Unload, unload).status());
  v1::SetLinkStateRequest link;
  link.set_election_id(5);
  denied(Call(*controller.fabric, &v1::Fabric::Stub::SetLinkState, link).status());
  v1::StopTrafficRequest stop;
  stop.set_election_id(5);
  denied(Call(*controller.traffic, &v1::Traffic::Stub::Stop, stop).status());
  v1::SetUpBatchRequest batch;
  batch.set_election_id(5);
  denied(Call(*controller.circuits, &v1::Circuits::Stub::SetUpBatch, batch).status());
  v1::RoutePermutationRequest permutation;
  permutation.set_protocol("minimum");
  permutation.set_permutation("identity");
  permutation.set_replace(true);
  permutation.set_election_id(5);
  denied(Call(*controller.circuits, &v1::Circuits::Stub::RoutePermutation, permutation).status());
  EXPECT_EQ(List(controller).size(), 2u);

  // The role goes to the one waiting, then to nobody.
  EXPECT_TRUE(second.Leave().ok());
  EXPECT_EQ(first.Hear(), std::pair(true, uint64_t{5}));
  EXPECT_TRUE(SetUpCircuit(controller, 2, 2, 5).ok());
  EXPECT_TRUE(first.Leave().ok());
  EXPECT_TRUE(Eventually([&] { return StatusOf(controller).primary_election_id() == 0; }));
  EXPECT_TRUE(SetUpCircuit(controller, 3, 3).ok());
  ExpectCountsEqualRecount(controller, agent.get());
}

TEST_F(FabricServiceTest, TheSameElectionIdTwiceIsRefused) {
  TestController controller(directory_.path());
  Contender first(controller);
  first.Ask(5);
  EXPECT_TRUE(first.Hear().first);
  Contender second(controller);
  second.Ask(5);
  const absl::Status status = second.Leave();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status), ElementsAre("election_id"));
  EXPECT_TRUE(first.Leave().ok());
}

TEST_F(FabricServiceTest, HealthAndReflectionAreOn) {
  TestController controller(directory_.path());
  EXPECT_TRUE(controller.channel->WaitForConnected(std::chrono::system_clock::now() +
                                                   std::chrono::seconds(30)));
  grpc::ClientContext context;
  SetDeadline(context);
  // The answer of grpc.health.v1.Health/Check is one enum; 1 is SERVING.
  grpc::ByteBuffer answer;
  const grpc::Slice empty("");
  const grpc::ByteBuffer request(&empty, 1);
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(controller.channel);
  auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  ASSERT_TRUE(status.ok()) << status.error_message();
  grpc::Slice bytes;
  ASSERT_TRUE(answer.DumpToSingleSlice(&bytes).ok());
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "\x08\x01");
}

}  // namespace
}  // namespace bfly::control
