// SPDX-License-Identifier: Apache-2.0
// Whole permutations over gRPC: thresholds, requests that are left, both candidate paths.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "tests/control/circuits_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PermutationServiceTest : public CircuitsServiceTest {
 protected:
  static v1::RoutePermutationRequest Collision(uint32_t c, uint32_t max_rounds) {
    v1::RoutePermutationRequest request;
    request.set_protocol("collision");
    request.set_permutation("random");
    request.set_seed(3);
    request.set_c(c);
    request.set_max_rounds(max_rounds);
    return request;
  }
};

std::vector<uint32_t> In(const google::protobuf::RepeatedField<uint32_t>& field) {
  return {field.begin(), field.end()};
}

// With a threshold too low to end, the protocol stops after the given rounds and names the requests
// that are left. These take p, are marked, and everything is installed.
TEST_F(PermutationServiceTest, CollisionSaysWhoIsLeftAndGivesThemTheFirstPath) {
  Start(64);
  const auto routed = Ask(Collision(1, 2));
  ASSERT_TRUE(routed.ok()) << routed.status();
  EXPECT_EQ(routed->rounds(), 2u);
  EXPECT_EQ(routed->c(), 1u);
  ASSERT_EQ(routed->left_per_round_size(), 2);
  ASSERT_GT(routed->requests_left_size(), 0);
  EXPECT_EQ(routed->left_per_round(1), static_cast<uint32_t>(routed->requests_left_size()));
  ASSERT_EQ(routed->paths_size(), 64);
  ASSERT_EQ(routed->buddies_size(), 64);
  const std::vector<uint32_t> left = In(routed->requests_left());
  for (int i = 0; i < 64; ++i) {
    const v1::PermutationPath& path = routed->paths(i);
    const v1::Buddies& buddies = routed->buddies(i);
    EXPECT_EQ(buddies.input(), path.input());
    EXPECT_EQ(buddies.output(), path.output());
    const bool is_left = std::count(left.begin(), left.end(), path.input()) == 1;
    EXPECT_EQ(path.choice() == "arbitrary", is_left);
    EXPECT_EQ(In(path.rows()), In(path.choice() == "p_prime" ? buddies.p_prime() : buddies.p()));
    // p and its buddy meet at the ends only.
    for (int level = 1; level + 1 < path.rows_size(); ++level) {
      EXPECT_NE(buddies.p(level), buddies.p_prime(level));
    }
  }
  EXPECT_EQ(List(*controller_).size(), 64u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(PermutationServiceTest, StageLoadCountsTheLinksByTheirCircuits) {
  Start(64);
  const auto routed = Ask(Collision(0, 0));
  ASSERT_TRUE(routed.ok()) << routed.status();
  EXPECT_EQ(routed->c(), 4u);  // 4! > 6
  EXPECT_EQ(routed->circuits(), 64u);
  EXPECT_GE(routed->steps(), 24u * routed->rounds());  // 2 d forward, 2 d back
  EXPECT_LE(routed->congestion(), 4u);
  ASSERT_EQ(routed->stage_load_size(), 12);
  std::map<std::tuple<int, uint32_t, uint32_t>, uint32_t> load;
  for (const v1::PermutationPath& path : routed->paths()) {
    for (int level = 0; level < 12; ++level) {
      ++load[{level, path.rows(level), path.rows(level + 1)}];
    }
  }
  for (int stage = 0; stage < 12; ++stage) {
    std::vector<uint32_t> links(routed->stage_congestion(stage) + 1);
    links[0] = 2 * 64;
    for (const auto& [link, circuits] : load) {
      if (std::get<0>(link) != stage) continue;
      ++links[circuits];
      --links[0];
    }
    EXPECT_EQ(In(routed->stage_load(stage).links()), links);
  }
}

TEST_F(PermutationServiceTest, ASummaryHasNoPaths) {
  Start(64);
  v1::RoutePermutationRequest request = Collision(0, 0);
  request.set_summary(true);
  request.set_dry_run(true);
  const auto routed = Ask(request);
  ASSERT_TRUE(routed.ok()) << routed.status();
  EXPECT_EQ(routed->paths_size() + routed->buddies_size(), 0);
  EXPECT_EQ(routed->circuits(), 64u);
}

TEST_F(PermutationServiceTest, RefusesThresholdsAndProtocolsThatDoNotFitNamingTheField) {
  Start();
  v1::RoutePermutationRequest request = Collision(255, 0);
  EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("c"));
  request = Collision(0, 0);
  request.set_q(255);
  EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("q"));
  request.set_q(0);
  // In range, and of no use to the protocol.
  for (const bool in_band : {false, true}) {
    request.set_in_band(in_band);
    request.set_q(5);
    EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("q"));
    request.set_q(0);
    request.set_protocol("minimum");
    request.set_c(3);
    EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("c"));
    request.set_c(0);
    request.set_max_rounds(1);
    EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("max_rounds"));
    request = Collision(0, 0);
  }
  request.set_dry_run(true);
  request.set_idempotency_key("key");
  EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("idempotency_key"));
  request = Collision(0, 0);
  request.set_protocol("benes");
  EXPECT_EQ(Ask(request).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Ask(request).status().message()), HasSubstr("not defined on"));
  // An output and an input given twice, and a permutation of another size.
  request = Collision(0, 0);
  request.clear_permutation();
  for (uint32_t row : {3u, 4u}) {
    request.add_inputs(row);
    request.add_outputs(7);
  }
  EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("outputs[1]"));
  request.clear_inputs();
  EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("outputs"));
  EXPECT_TRUE(List(*controller_).empty());
}

}  // namespace
}  // namespace bfly::control
