// SPDX-License-Identifier: Apache-2.0
// Step programs over real gRPC: what goes and comes, what is refused, and what ends a run.
#include <gmock/gmock.h>

#include <future>
#include <tuple>

#include "control/topology_file/to_fabric_config.h"
#include "dataplane/step_workers/step_programs.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// Takes the steps in the calling thread, when it is let go.
class FakeStepPrograms final : public dataplane::StepPrograms {
 public:
  FakeStepPrograms(FakeBoard& board, const Network& network) : board_(board), network_(network) {}

  absl::StatusOr<dataplane::StepRun> Run(absl::string_view program, const FaultSet& faults,
                                         const dataplane::RouteRequest& request,
                                         const dataplane::RouteOptions& options,
                                         const std::function<bool()>& cancelled) override {
    const int unloads = board_.unloads, link_changes = board_.link_changes;
    ++begun;
    while (held) {
      if (cancelled()) {
        ++cancellations;
        return absl::CancelledError("cancelled");
      }
      if (board_.unloads != unloads) {
        // Meanwhile nobody may destroy the fabric.
        std::this_thread::sleep_for(milliseconds(50));
        ++given_up;
        return absl::UnavailableError("the fabric was unloaded");
      }
      if (board_.link_changes != link_changes) return absl::AbortedError("a link went down");
      std::this_thread::sleep_for(milliseconds(1));
    }
    const auto report = dataplane::RunRoute(program, network_, faults, request, options);
    if (!report.ok()) return report.status();
    dataplane::StepRun run{
        .report = *report, .seconds = 0.25, .barriers = 7, .barrier_seconds = 0.5, .workers = 2};
    if (lies) run.report.levels.pop_back();
    if (options.frame_bytes != 0) {
      run.frames = dataplane::StepFrameCounts{options.frame_bytes, 3, 5, 7};
    }
    return run;
  }

  std::atomic<bool> held = false, lies = false;
  std::atomic<int> begun = 0, cancellations = 0, given_up = 0;

 private:
  FakeBoard& board_;
  const Network& network_;
};

v1::Topology OfKind(v1::NetworkKind kind, uint32_t rows, uint32_t multiplicity) {
  v1::Topology topology = RandomlyWired(rows);
  topology.mutable_network()->set_kind(kind);
  topology.mutable_network()->set_multiplicity(multiplicity);
  return topology;
}

class ProgramsServiceTest : public testing::Test {
 protected:
  void Begin(const v1::Topology& topology, bool split = false) {
    network_.emplace(*NetworkOf(topology.network()));
    programs_.emplace(board_, *network_);
    board_.step_programs = &*programs_;
    agents_.push_back(
        std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0")));
    if (split) {
      agents_.push_back(
          std::make_unique<TestAgent>(directory_.path(), "dp1", FakeBackend(board_, "dp1")));
    }
    controller_ = std::make_unique<TestController>(directory_.path());
    ASSERT_TRUE(Load(*controller_, topology).ok());
  }
  void BeginButterfly() { Begin(OfKind(v1::BUTTERFLY, 4, 1)); }
  void TearDown() override {
    if (programs_.has_value()) programs_->held = false;
  }

  static v1::RouteRequest StoreAndForward() {
    v1::RouteRequest request;
    request.set_program("store_and_forward");
    return request;
  }
  absl::StatusOr<v1::RouteReport> Route(const v1::RouteRequest& request,
                                        milliseconds time = milliseconds(60'000)) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + time);
    v1::RouteReport report;
    const absl::Status status = FromGrpc(controller_->programs->Route(&context, request, &report));
    if (!status.ok()) return status;
    return report;
  }
  std::future<absl::StatusOr<v1::RouteReport>> RouteBeside(const v1::RouteRequest& request) {
    return std::async(std::launch::async, [this, request] { return Route(request); });
  }
  // A run that does not end by itself has begun.
  std::future<absl::StatusOr<v1::RouteReport>> HeldRun() {
    programs_->held = true;
    auto run = RouteBeside(StoreAndForward());
    EXPECT_TRUE(Eventually([this] { return programs_->begun == 1; }));
    return run;
  }
  absl::Status SetNode(uint32_t level, uint32_t row, bool up) {
    v1::SetNodeStateRequest request;
    request.set_level(level);
    request.set_row(row);
    request.set_up(up);
    return Call(*controller_->fabric, &v1::Fabric::Stub::SetNodeState, request).status();
  }

  void ExpectRefused(const v1::RouteRequest& request, absl::StatusCode code,
                     const std::vector<std::string>& fields, const std::string& text) {
    const absl::Status status = Route(request).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(FieldsOf(status), fields) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  TemporaryFolder directory_;
  FakeBoard board_;
  std::optional<Network> network_;
  std::optional<FakeStepPrograms> programs_;
  std::vector<std::unique_ptr<TestAgent>> agents_;
  std::unique_ptr<TestController> controller_;
};

// Inputs 0 and 2 send two packets each to output 0, whose last link they cross in steps 2 to 5.
TEST_F(ProgramsServiceTest, AReportTellsTheStepsAndWhatTheyTook) {
  BeginButterfly();
  v1::RouteRequest request = StoreAndForward();
  for (const uint32_t packets : {2, 0, 2, 0}) request.add_packets_of_input(packets);
  for (const uint32_t output : {0, 0, 0, 0}) request.add_outputs(output);
  request.set_level(1);
  const auto report = Route(request);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->finished());
  EXPECT_EQ(std::tuple(report->program(), report->network(), report->rows()),
            std::tuple("store_and_forward", "butterfly", 4u));
  EXPECT_EQ(std::tuple(report->steps(), report->packets(), report->delivered()),
            std::tuple(5u, 4u, 4u));
  EXPECT_EQ(report->congestion(), 4u);
  ASSERT_EQ(report->levels_size(), 2);
  EXPECT_EQ(report->levels(1).waited_steps(), 4u);
  ASSERT_EQ(report->samples_size(), 6);
  EXPECT_THAT(report->samples(2).levels(), ElementsAre(0, 3, 1));
  EXPECT_THAT(report->samples(2).rows(), ElementsAre(3, 0, 0, 0));
  const v1::RouteInBand& in_band = report->in_band();
  EXPECT_EQ(std::tuple(in_band.seconds(), in_band.steps_per_second(), in_band.workers()),
            std::tuple(0.25, 20.0, 2u));
  EXPECT_EQ(std::tuple(in_band.barriers(), in_band.barrier_seconds()), std::tuple(7u, 0.5));
}

TEST_F(ProgramsServiceTest, AReportTellsWhatBecameOfFrames) {
  BeginButterfly();
  v1::RouteRequest request = StoreAndForward();
  EXPECT_FALSE(Route(request)->in_band().has_frames());
  request.set_frame_bytes(100);
  const auto report = Route(request);
  ASSERT_TRUE(report.ok()) << report.status();
  const v1::RouteFrames& frames = report->in_band().frames();
  EXPECT_EQ(
      std::tuple(frames.made(), frames.without_buffer(), frames.to_ports(), frames.to_sinks()),
      std::tuple(100u, 3u, 5u, 7u));
}

TEST_F(ProgramsServiceTest, EveryFieldReachesTheProgramThatTakesIt) {
  Begin(OfKind(v1::MULTIBUTTERFLY, 16, 2));
  v1::RouteRequest waves;
  waves.set_program("waves");
  waves.set_waves(4);
  waves.set_permutation("bitrev");
  EXPECT_EQ(Route(waves)->waves_size(), 4);
  waves.set_max_steps(3);
  EXPECT_EQ(Route(waves)->steps(), 3u);
  EXPECT_THAT(Route(waves)->trouble(), HasSubstr("limit of 3 steps"));
  waves.set_waves(17);
  EXPECT_EQ(FieldsOf(Route(waves).status()), std::vector<std::string>{"waves"});
  v1::RouteRequest h_relation;
  h_relation.set_program("h_relation");
  h_relation.set_h(2);
  h_relation.mutable_h_relation()->set_share(32);
  EXPECT_THAT(std::string(Route(h_relation).status().message()), HasSubstr("share"));
  h_relation.mutable_h_relation()->set_share(16);
  const auto report = Route(h_relation);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->packets(), 32u);
  for (const char* field : {"neighbours", "iterations", "rounds"}) {
    v1::RouteRequest wrong = h_relation;
    const auto* const type = v1::RouteHRelation::descriptor()->FindFieldByName(field);
    wrong.h_relation().GetReflection()->SetUInt32(wrong.mutable_h_relation(), type, UINT32_MAX);
    EXPECT_THAT(std::string(Route(wrong).status().message()), HasSubstr(field));
  }
  v1::RouteRequest greedy = StoreAndForward();
  greedy.set_h(8);
  greedy.set_seed(1);
  greedy.set_max_samples(2);
  const auto small = Route(greedy);
  EXPECT_EQ(small->samples_size(), 2);
  greedy.set_buffer(1);
  EXPECT_GT(Route(greedy)->steps(), small->steps());
  greedy.clear_buffer();
  greedy.set_seed(2);
  EXPECT_NE(Route(greedy)->mean_latency(), small->mean_latency());
}

TEST_F(ProgramsServiceTest, WhatIsDownIsTheFaultsOfTheRun) {
  Begin(OfKind(v1::MULTIBUTTERFLY, 16, 2));
  ASSERT_TRUE(SetNode(0, 3, false).ok());
  ASSERT_TRUE(SetNode(4, 9, false).ok());
  v1::RouteRequest request = StoreAndForward();
  request.set_permutation("identity");
  const auto report = Route(request);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(std::tuple(report->delivered(), report->left_out()), std::tuple(14u, 2u));
  EXPECT_THAT(report->faulty_inputs(), ElementsAre(3));
  EXPECT_THAT(report->faulty_outputs(), ElementsAre(9));
  // Both are down themselves, so they do not count as faulty without being down.
  EXPECT_EQ(report->faulty_switches(), 0u);
  ASSERT_TRUE(SetNode(0, 3, true).ok());
  ASSERT_TRUE(SetNode(4, 9, true).ok());
  EXPECT_EQ(Route(request)->delivered(), 16u);
}

TEST_F(ProgramsServiceTest, WrongFieldsAreNamed) {
  BeginButterfly();
  using enum absl::StatusCode;
  v1::RouteRequest request;
  request.set_program("flood");
  ExpectRefused(request, kInvalidArgument, {"program"}, "is none of waves");
  request = StoreAndForward();
  request.set_h(1u << 23);
  ExpectRefused(request, kResourceExhausted, {"h"}, "a run may have 16777216");
  request = StoreAndForward();
  request.set_permutation("flood");
  EXPECT_EQ(Route(request).status().code(), kInvalidArgument);
  request = StoreAndForward();
  request.add_packets_of_input(1);
  ExpectRefused(request, kInvalidArgument, {"packets_of_input"}, "the network has 4 rows");
  for (int i = 0; i < 3; ++i) request.add_packets_of_input(1);
  for (int i = 0; i < 3; ++i) request.add_outputs(3);
  ExpectRefused(request, kInvalidArgument, {"outputs"}, "packets_of_input adds up to 4");
  request.add_outputs(4);
  EXPECT_THAT(std::string(Route(request).status().message()), HasSubstr("destinations: "));
  request.set_permutation("identity");
  ExpectRefused(request, kInvalidArgument, {"permutation"}, "give one of them");
  request = StoreAndForward();
  request.set_queue("lifo");
  ExpectRefused(request, kInvalidArgument, {"queue"}, "fifo, priority");
  request = StoreAndForward();
  request.set_max_samples(201);
  ExpectRefused(request, kInvalidArgument, {"max_samples"}, "outside 2..200");
  request = StoreAndForward();
  request.set_level(3);
  ExpectRefused(request, kInvalidArgument, {"level"}, "outside 0..2");
  EXPECT_TRUE(Route(StoreAndForward()).ok());
}

TEST_F(ProgramsServiceTest, AnotherNetworkIsRefusedFieldByField) {
  const v1::Topology topology = OfKind(v1::BUTTERFLY, 4, 1);
  Begin(topology);
  v1::RouteRequest request = StoreAndForward();
  *request.mutable_network() = topology.network();
  EXPECT_TRUE(Route(request).ok());
  // The default of a field that is left out.
  request.mutable_network()->clear_multiplicity();
  EXPECT_TRUE(Route(request).ok());
  request.mutable_network()->set_kind(v1::DILATED_BUTTERFLY);
  request.mutable_network()->set_rows(8);
  request.mutable_network()->set_multiplicity(2);
  ExpectRefused(request, absl::StatusCode::kFailedPrecondition,
                {"network.kind", "network.rows", "network.multiplicity"},
                "network.rows: is 8, and that of the loaded fabric \"test\" is 4");
}

TEST_F(ProgramsServiceTest, OnlyOneDataPlaneWithAFabricRunsPrograms) {
  Begin(SmallTopology(/*split=*/true), /*split=*/true);
  ExpectRefused(StoreAndForward(), absl::StatusCode::kFailedPrecondition, {},
                "split over the data planes dp0, dp1");
  ASSERT_TRUE(
      Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).status().ok());
  ExpectRefused(StoreAndForward(), absl::StatusCode::kFailedPrecondition, {},
                "no fabric is loaded");
  EXPECT_EQ(programs_->begun, 0);
}

TEST_F(ProgramsServiceTest, OnlyThePrimaryRunsPrograms) {
  BeginButterfly();
  grpc::ClientContext context;
  SetDeadline(context);
  auto role = controller_->fabric->Arbitrate(&context);
  v1::ArbitrateRequest ask;
  ask.set_election_id(5);
  v1::ArbitrateResponse answer;
  ASSERT_TRUE(role->Write(ask) && role->Read(&answer) && answer.primary());
  EXPECT_EQ(Route(StoreAndForward()).status().code(), absl::StatusCode::kPermissionDenied);
  v1::RouteRequest request = StoreAndForward();
  request.set_election_id(5);
  EXPECT_TRUE(Route(request).ok());
  context.TryCancel();
}

TEST_F(ProgramsServiceTest, OneRunsAtATimeAndChangesDoNotWait) {
  BeginButterfly();
  auto first = HeldRun();
  std::vector<std::future<absl::StatusOr<v1::RouteReport>>> others;
  for (int i = 0; i < 6; ++i) others.push_back(RouteBeside(StoreAndForward()));
  v1::VerifyRequest verify;
  *verify.mutable_topology() = OfKind(v1::BUTTERFLY, 4, 1);
  EXPECT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::Verify, verify).ok());
  // A circuit needs no program; in band it does.
  EXPECT_TRUE(SetUpCircuit(*controller_, 1, 2).ok());
  v1::SetUpRequest in_band;
  in_band.set_in_band(true);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + milliseconds(200));
  v1::SetUpResponse response;
  EXPECT_EQ(controller_->circuits->SetUp(&context, in_band, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(programs_->begun, 1);
  programs_->held = false;
  EXPECT_TRUE(first.get().ok());
  for (auto& other : others) EXPECT_TRUE(other.get().ok());
  EXPECT_EQ(programs_->begun, 7);
}

TEST_F(ProgramsServiceTest, ALinkThatGoesDownEndsTheRun) {
  BeginButterfly();
  auto run = HeldRun();
  ASSERT_TRUE(SetNode(1, 2, false).ok());
  const absl::Status status = run.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("a link went down"));
}

TEST_F(ProgramsServiceTest, UnloadingEndsTheRun) {
  BeginButterfly();
  auto run = HeldRun();
  ASSERT_TRUE(
      Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).status().ok());
  EXPECT_EQ(programs_->given_up, 1);
  const absl::Status status = run.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("data plane dp0: the fabric was unloaded"));
  programs_->held = false;
  ASSERT_TRUE(Load(*controller_, OfKind(v1::BUTTERFLY, 4, 1)).ok());
  EXPECT_TRUE(Route(StoreAndForward()).ok());
}

TEST_F(ProgramsServiceTest, ARunEndsWhenItsClientGoesOrItsTimeIsOver) {
  BeginButterfly();
  programs_->held = true;
  // On a busy machine the time may be over before the run begins; then another gets more time.
  for (milliseconds time(200); programs_->begun == 0 && time < milliseconds(60'000); time *= 2)
    EXPECT_EQ(Route(StoreAndForward(), time).status().code(), absl::StatusCode::kDeadlineExceeded);
  const auto all_ended = [this] { return programs_->cancellations == programs_->begun; };
  EXPECT_TRUE(AllCallsEnd(*controller_) && Eventually(all_ended));
  grpc::ClientContext context;
  std::thread leaves([&] {
    EXPECT_TRUE(Eventually([&] { return programs_->begun > programs_->cancellations; }));
    context.TryCancel();
  });
  v1::RouteReport report;
  EXPECT_EQ(controller_->programs->Route(&context, StoreAndForward(), &report).error_code(),
            grpc::StatusCode::CANCELLED);
  leaves.join();
  EXPECT_TRUE(Eventually(all_ended));
  programs_->held = false;
  EXPECT_TRUE(Route(StoreAndForward()).ok());
}

TEST_F(ProgramsServiceTest, AReportThatCannotBeTrueIsNotBelieved) {
  BeginButterfly();
  programs_->lies = true;
  ExpectRefused(StoreAndForward(), absl::StatusCode::kInternal, {}, "levels: has 1 entries");
}

TEST_F(ProgramsServiceTest, ADataPlaneThatDiesEndsTheRun) {
  BeginButterfly();
  auto run = HeldRun();
  // A fake program ends when its call is cancelled, as a process would.
  agents_.clear();
  const absl::Status status = run.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("data plane dp0: "));
  ExpectRefused(StoreAndForward(), absl::StatusCode::kUnavailable, {}, "data plane dp0 at ");
}

}  // namespace
}  // namespace bfly::control
