// SPDX-License-Identifier: Apache-2.0
// Circuits over real gRPC: the client's answer, and that the data plane holds the circuit by then.
#include <gmock/gmock.h>

#include "tests/control/circuits_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(CircuitsServiceTest, ACircuitIsInTheDataPlaneBeforeTheAnswer) {
  Start();
  const auto response = SetUpCircuit(*controller_, 3, 5);
  ASSERT_TRUE(response.ok()) << response.status();
  const v1::Circuit& circuit = response->circuit();
  const auto held = agent_->host().held(true).circuits;
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].input, 3u);
  EXPECT_EQ(held[0].id, circuit.id());
  EXPECT_EQ(circuit.rows_size(), 9);
  EXPECT_EQ(circuit.rows(0), 3u);
  EXPECT_EQ(circuit.rows(8), 5u);
  EXPECT_EQ(circuit.congestion(), 1u);
  ExpectCountsEqualRecount(*controller_, agent_.get());

  ASSERT_TRUE(ReleaseCircuit(*controller_, circuit.id()).ok());
  EXPECT_THAT(agent_->host().held(true).circuits, IsEmpty());
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(CircuitsServiceTest, EveryRefusalHasItsCodeAndNamesItsField) {
  Start();
  const auto circuit = SetUpCircuit(*controller_, 3, 5, 0, "key");
  ASSERT_TRUE(circuit.ok());
  const auto refused = [](const absl::Status& status, absl::StatusCode code,
                          const std::vector<std::string>& fields) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(FieldsOf(status), fields);
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
  refused(SetUpCircuit(*controller_, 16, 17).status(), kInvalid, {"input", "output"});
  refused(SetUpCircuit(*controller_, 3, 6).status(), kPrecondition, {"input"});
  refused(SetUpCircuit(*controller_, 4, 5).status(), kPrecondition, {"output"});
  refused(SetUpCircuit(*controller_, 4, 6, 0, "key").status(), kInvalid, {"idempotency_key"});
  refused(SetUpCircuit(*controller_, 4, 6, 0, std::string(257, 'k')).status(), kInvalid,
          {"idempotency_key"});
  refused(SetUpCircuit(*controller_, 4, 6, 3).status(), absl::StatusCode::kPermissionDenied,
          {"election_id"});
  refused(ReleaseCircuit(*controller_, 4711).status(), absl::StatusCode::kNotFound, {"id"});
  v1::SetUpRequest path;
  path.set_input(4);
  path.set_output(6);
  path.mutable_rows()->Add(4);
  refused(Ask(path).status(), kInvalid, {"rows"});
  // A seed without a protocol would do nothing.
  v1::SetUpRequest seed;
  seed.set_input(4);
  seed.set_output(6);
  seed.set_seed(1);
  refused(Ask(seed).status(), kInvalid, {"seed"});
  v1::SetUpBatchRequest batch;
  *batch.add_requests() = seed;
  refused(Ask(batch).status(), kInvalid, {"requests[0].seed"});
  v1::MoveRequest move;
  move.set_input(3);
  move.set_seed(1);
  refused(Call(*controller_->circuits, &v1::Circuits::Stub::Move, move).status(), kInvalid,
          {"seed"});
  v1::ListRequest list;
  list.set_input(16);
  list.mutable_link()->set_stage(8);
  list.set_page_size(10'001);
  list.set_page_token("x");
  refused(Ask(list).status(), kInvalid, {"input", "link.stage", "page_size", "page_token"});
  EXPECT_EQ(List(*controller_).size(), 1u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(CircuitsServiceTest, ARepeatedRequestWithItsKeyIsAnsweredTheSame) {
  Start();
  const auto first = SetUpCircuit(*controller_, 3, 5, 0, "key");
  const auto second = SetUpCircuit(*controller_, 3, 5, 0, "key");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->SerializeAsString(), second->SerializeAsString());
  EXPECT_EQ(List(*controller_).size(), 1u);

  v1::SetUpBatchRequest batch;
  batch.set_all_or_nothing(true);
  batch.set_idempotency_key("batch");
  batch.add_requests()->set_input(7);
  const auto once = Ask(batch);
  const auto twice = Ask(batch);
  ASSERT_TRUE(once.ok() && twice.ok());
  EXPECT_EQ(once->SerializeAsString(), twice->SerializeAsString());
  EXPECT_EQ(List(*controller_).size(), 2u);
}

TEST_F(CircuitsServiceTest, AGivenPathIsInstalledAsGiven) {
  Start();
  v1::SetUpRequest request;
  request.set_input(0);
  request.set_output(0);
  // Bits 8, 4, 2, 1, then again: out to row 15 and back.
  for (uint32_t row : {0, 8, 12, 14, 15, 7, 3, 1, 0}) request.add_rows(row);
  const auto response = Ask(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->circuit().choice(), "given");
  EXPECT_EQ(response->circuit().tag(), "1111 0000");
  EXPECT_EQ(agent_->host().held(true).circuits[0].tag, 0xf0u);
}

TEST_F(CircuitsServiceTest, ABatchIsAllOrNothingIfAsked) {
  Start();
  v1::SetUpBatchRequest batch;
  for (uint32_t row : {1, 2, 2, 4}) {
    batch.add_requests()->set_input(row);
    batch.mutable_requests(batch.requests_size() - 1)->set_output(row);
  }
  batch.set_all_or_nothing(true);
  const absl::Status status = Ask(batch).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FieldsOf(status), ElementsAre("requests[2].input", "requests[2].output"));
  EXPECT_THAT(List(*controller_), IsEmpty());
  EXPECT_THAT(agent_->host().held(true).circuits, IsEmpty());

  batch.set_all_or_nothing(false);
  const auto response = Ask(batch);
  ASSERT_TRUE(response.ok());
  ASSERT_EQ(response->results_size(), 4);
  EXPECT_EQ(response->results(1).code(), 0);
  EXPECT_EQ(response->results(2).code(), 9);  // google.rpc.Code.FAILED_PRECONDITION
  EXPECT_EQ(response->results(3).circuit().input(), 4u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(CircuitsServiceTest, AMemberOfABatchHasNoKeyOfItsOwn) {
  Start();
  v1::SetUpBatchRequest batch;
  batch.add_requests()->set_idempotency_key("mine");
  batch.add_requests()->set_election_id(7);
  EXPECT_THAT(FieldsOf(Ask(batch).status()),
              ElementsAre("requests[0].idempotency_key", "requests[1].election_id"));
}

TEST_F(CircuitsServiceTest, WhatTheDataPlaneRefusesChangesNothing) {
  Start();
  ASSERT_TRUE(SetUpCircuit(*controller_, 1, 1).ok());
  board_.RefuseInputs({6});
  const absl::Status status = SetUpCircuit(*controller_, 6, 6).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no room at the input"));
  ExpectCountsEqualRecount(*controller_, agent_.get());
  EXPECT_EQ(List(*controller_).size(), 1u);

  v1::RoutePermutationRequest permutation;
  permutation.set_protocol("minimum");
  permutation.set_permutation("bitrev");
  permutation.set_replace(true);
  EXPECT_FALSE(Ask(permutation).ok());
  EXPECT_EQ(List(*controller_).size(), 1u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(CircuitsServiceTest, ADataPlaneThatDoesNotAnswerLeavesEverythingAsItWas) {
  Start(16, /*watch_interval_ms=*/3'600'000);  // the watch notices nothing
  ASSERT_TRUE(SetUpCircuit(*controller_, 1, 1).ok());
  const uint64_t id = List(*controller_)[0].id();
  agent_.reset();
  EXPECT_EQ(SetUpCircuit(*controller_, 2, 2).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReleaseCircuit(*controller_, id).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(List(*controller_).size(), 1u);
}

TEST_F(CircuitsServiceTest, APermutationByNameIsRoutedAndInstalled) {
  Start();
  v1::RoutePermutationRequest request;
  request.set_protocol("minimum");
  request.set_permutation("bitrev");
  request.set_dry_run(true);
  const auto planned = Ask(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->paths_size(), 16);
  EXPECT_THAT(List(*controller_), IsEmpty());

  request.set_dry_run(false);
  const auto routed = Ask(request);
  ASSERT_TRUE(routed.ok()) << routed.status();
  EXPECT_EQ(routed->dilation(), 8u);
  ASSERT_EQ(routed->paths_size(), 16);
  EXPECT_EQ(routed->paths(1).output(), 8u);  // 0001 read backwards
  EXPECT_EQ(List(*controller_).size(), 16u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
  // Congestion by hand: the most circuits on one link.
  std::map<std::tuple<int, uint32_t, uint32_t>, uint32_t> load;
  uint32_t most = 0;
  for (const v1::PermutationPath& path : routed->paths()) {
    for (int level = 0; level < 8; ++level) {
      most = std::max(most, ++load[{level, path.rows(level), path.rows(level + 1)}]);
    }
  }
  EXPECT_EQ(routed->congestion(), most);
  EXPECT_EQ(Ask(request).status().code(), absl::StatusCode::kFailedPrecondition);
  request.set_replace(true);
  EXPECT_TRUE(Ask(request).ok());
}

TEST_F(CircuitsServiceTest, BadPermutationsAreRefusedByField) {
  Start();
  v1::RoutePermutationRequest request;
  request.set_protocol("minimum");
  EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("permutation"));
  request.set_permutation("random");
  request.mutable_inputs()->Add(3);
  EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("permutation"));
  request.clear_permutation();
  EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("permutation"));
  request.mutable_outputs()->Add(3);
  request.mutable_outputs()->Add(4);
  EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("outputs"));
  request.mutable_inputs()->Add(3);
  EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("inputs[1]"));
  request.set_inputs(1, 4);
  request.set_protocol("magic");
  EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("protocol"));
  EXPECT_THAT(List(*controller_), IsEmpty());
}

TEST_F(CircuitsServiceTest, AListIsFilteredAndComesInPages) {
  Start();
  v1::RoutePermutationRequest permutation;
  permutation.set_protocol("minimum");
  permutation.set_permutation("identity");
  ASSERT_TRUE(Ask(permutation).ok());
  const std::vector<v1::Circuit> all = List(*controller_);
  ASSERT_EQ(all.size(), 16u);

  v1::ListRequest request;
  request.set_page_size(7);
  std::vector<uint64_t> ids;
  int pages = 0;
  do {
    const auto page = Ask(request);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_EQ(page->total(), 16u);
    for (const v1::Circuit& circuit : page->circuits()) ids.push_back(circuit.id());
    request.set_page_token(page->next_page_token());
  } while (++pages < 10 && !request.page_token().empty());
  EXPECT_EQ(pages, 3);
  ASSERT_EQ(ids.size(), 16u);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(ids[i], all[i].id());

  v1::ListRequest by_output;
  by_output.set_output(5);
  ASSERT_EQ(Ask(by_output)->circuits_size(), 1);
  EXPECT_EQ(Ask(by_output)->circuits(0).input(), 5u);
  // The circuits over the second link of circuit 9's path, found from the rows of all circuits.
  v1::ListRequest by_link;
  by_link.mutable_link()->set_stage(1);
  by_link.mutable_link()->set_row(all[9].rows(1));
  by_link.mutable_link()->set_port(all[9].rows(2) >> 2 & 1);  // stage 1 sets the bit 4
  std::vector<uint64_t> expected;
  for (const v1::Circuit& circuit : all) {
    if (circuit.rows(1) == all[9].rows(1) && circuit.rows(2) == all[9].rows(2)) {
      expected.push_back(circuit.id());
    }
  }
  std::vector<uint64_t> found;
  const auto listed = Ask(by_link);
  for (const v1::Circuit& circuit : listed->circuits()) found.push_back(circuit.id());
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace bfly::control
