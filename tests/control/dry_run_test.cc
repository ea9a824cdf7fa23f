// SPDX-License-Identifier: Apache-2.0
// Dry runs of step programs over real gRPC. No data plane hears of them.
#include "control/controller/dry_run.h"

#include <gmock/gmock.h>

#include <numeric>
#include <vector>

#include "control/topology_file/to_fabric_config.h"
#include "dataplane/steps/route.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DryRunTest : public testing::Test {
 protected:
  void Begin(v1::NetworkKind kind, uint32_t rows, uint32_t multiplicity) {
    v1::Topology topology = RandomlyWired(rows);
    topology.mutable_network()->set_kind(kind);
    topology.mutable_network()->set_multiplicity(multiplicity);
    network_.emplace(*NetworkOf(topology.network()));
    ASSERT_TRUE(Load(*controller_, topology).ok());
  }
  static v1::RouteRequest Of(const std::string& program) {
    v1::RouteRequest request;
    request.set_program(program);
    request.set_seed(5);
    return request;
  }
  absl::StatusOr<v1::RouteRecording> DryRun(const v1::RouteRequest& request) {
    return Call(*controller_->programs, &v1::Programs::Stub::DryRun, request);
  }
  void ExpectRefused(const v1::RouteRequest& request, absl::StatusCode code,
                     const std::vector<std::string>& fields, const std::string& text) {
    const absl::Status status = DryRun(request).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(FieldsOf(status), fields) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  TemporaryFolder directory_;
  FakeBoard board_;
  TestAgent agent_{directory_.path(), "dp0", FakeBackend(board_, "dp0")};
  std::unique_ptr<TestController> controller_ = std::make_unique<TestController>(directory_.path());
  std::optional<Network> network_;
};

// The run in the controller is the run of `bfly route`, and the recording is of that run.
TEST_F(DryRunTest, TheReportIsThatOfARunInThisProcess) {
  Begin(v1::MULTIBUTTERFLY, 16, 2);
  for (const char* program : {"waves", "greedy", "h_relation", "store_and_forward"}) {
    const auto recording = DryRun(Of(program));
    ASSERT_TRUE(recording.ok()) << recording.status();
    const dataplane::RouteRequest request{
        .relation = *RelationByName("random", 16, 1, 5), .seed = 5, .h_relation = {.share = 16}};
    const auto plain = dataplane::RunRoute(program, *network_, FaultSet(*network_), request, {});
    ASSERT_TRUE(plain.ok()) << plain.status();
    const v1::RouteReport& report = recording->report();
    EXPECT_EQ(report.program(), program);
    EXPECT_EQ(report.steps(), plain->steps) << program;
    EXPECT_EQ(report.phases(), plain->phases) << program;
    EXPECT_EQ(report.delivered(), 16u);
    EXPECT_EQ(report.mean_latency(), plain->mean_latency) << program;
    EXPECT_FALSE(report.has_in_band());
    EXPECT_EQ(std::accumulate(recording->links().begin(), recording->links().end(), 0), 16 * 4);
    EXPECT_EQ(recording->steps_size(), 16 * 4);
    for (int packet = 0; packet < 16; ++packet) {
      EXPECT_EQ(recording->inputs(packet), static_cast<uint32_t>(packet));
      EXPECT_EQ(recording->outputs(packet), request.relation.destinations[packet]);
      EXPECT_EQ(recording->rows(packet * 4 + 3), recording->outputs(packet));
    }
  }
}

TEST_F(DryRunTest, ExtraStagesTakeTheSameStepsAsWithTheirOwnEngine) {
  Begin(v1::BUTTERFLY, 16, 1);
  v1::RouteRequest message = Of("extra_stages");
  message.set_h(3);
  const auto recording = DryRun(message);
  ASSERT_TRUE(recording.ok()) << recording.status();
  const dataplane::RouteRequest request{.relation = *RelationByName("random", 16, 3, 5), .seed = 5};
  const auto plain =
      dataplane::RunRoute("extra_stages", *network_, FaultSet(*network_), request, {});
  EXPECT_EQ(recording->report().steps(), plain->steps);
  EXPECT_EQ(recording->report().mean_latency(), plain->mean_latency);
  EXPECT_EQ(recording->report().delivered(), 48u);
}

TEST_F(DryRunTest, WhatIsDownIsTheFaultsOfTheRun) {
  Begin(v1::MULTIBUTTERFLY, 16, 2);
  v1::SetNodeStateRequest down;
  down.set_row(3);
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::SetNodeState, down).ok());
  const auto recording = DryRun(Of("waves"));
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_EQ(recording->report().left_out(), 1u);
  EXPECT_THAT(recording->report().faulty_inputs(), ElementsAre(3));
  EXPECT_EQ(recording->begins(3), UINT32_MAX);
  EXPECT_EQ(recording->links(3), 0u);
  EXPECT_EQ(recording->report().delivered(), 15u);
}

TEST_F(DryRunTest, WrongFieldsAreNamed) {
  using enum absl::StatusCode;
  EXPECT_EQ(DryRun(Of("waves")).status().code(), kFailedPrecondition);
  Begin(v1::MULTIBUTTERFLY, 16, 2);
  ExpectRefused(Of("flood"), kInvalidArgument, {"program"}, "is none of waves");
  v1::RouteRequest request = Of("waves");
  request.set_frame_bytes(64);
  ExpectRefused(request, kInvalidArgument, {"frame_bytes"}, "sends no frames");
  request = Of("greedy");
  request.set_h(2049);
  ExpectRefused(request, kResourceExhausted, {"h"}, "at most 131072; use a smaller h (2048 fits)");
  request.set_h(1u << 20);
  EXPECT_EQ(DryRun(request).status().code(), kResourceExhausted);
  request = Of("waves");
  *request.mutable_network() = RandomlyWired(8).network();
  EXPECT_EQ(DryRun(request).status().code(), kFailedPrecondition);
  EXPECT_THAT(std::string(DryRun(Of("extra_stages")).status().message()),
              HasSubstr("extra_stages runs on: butterfly"));
}

TEST_F(DryRunTest, AProgramThatDoesNotGoAroundFaultsNeedsEverythingUp) {
  Begin(v1::MULTIBUTTERFLY, 16, 2);
  v1::SetNodeStateRequest down;
  down.set_row(3);
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::SetNodeState, down).ok());
  const absl::Status status = DryRun(Of("greedy")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("bring them up"));
}

// A dry run changes nothing, so it does not need the primary role.
TEST_F(DryRunTest, AnybodyMayAskWhileAnotherClientIsPrimary) {
  Begin(v1::MULTIBUTTERFLY, 16, 2);
  grpc::ClientContext context;
  SetDeadline(context);
  auto role = controller_->fabric->Arbitrate(&context);
  v1::ArbitrateRequest ask;
  ask.set_election_id(5);
  v1::ArbitrateResponse answer;
  ASSERT_TRUE(role->Write(ask) && role->Read(&answer) && answer.primary());
  EXPECT_TRUE(DryRun(Of("waves")).ok());
  context.TryCancel();
}

TEST(DryRun, EndsWhenItIsInterruptedOrTooLate) {
  const Network multibutterfly = *Network::Make(
      {.kind = NetworkKind::kMultibutterfly, .rows = 64, .seed = 3, .multiplicity = 2});
  const Network butterfly =
      *Network::Make({.kind = NetworkKind::kButterfly, .rows = 64, .extra_stages = 4});
  const auto fine = [] { return absl::OkStatus(); };
  for (const absl::string_view program :
       {"waves", "greedy", "h_relation", "store_and_forward", "extra_stages"}) {
    const Network& network = program == "extra_stages" ? butterfly : multibutterfly;
    const FaultSet faults(network);
    v1::RouteRequest request;
    request.set_program(std::string(program));
    if (request.program() != "waves") request.set_h(request.program() == "greedy" ? 64 : 8);
    ASSERT_TRUE(RunDry(request, network, faults, fine).ok()) << program;
    int asked = 0;
    const auto cancelled = [&asked] {
      return ++asked == 1 ? absl::OkStatus() : absl::CancelledError("cancelled");
    };
    EXPECT_EQ(RunDry(request, network, faults, cancelled).status().code(),
              absl::StatusCode::kCancelled)
        << program;
    EXPECT_EQ(asked, 2) << program;
    EXPECT_EQ(RunDry(request, network, faults, fine, std::chrono::nanoseconds(0)).status().code(),
              absl::StatusCode::kDeadlineExceeded)
        << program;
  }
}

}  // namespace
}  // namespace bfly::control
