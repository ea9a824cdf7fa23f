// SPDX-License-Identifier: Apache-2.0
#include "control/controller/arbitration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

// A client that remembers the last message it got.
struct Client {
  std::optional<bool> primary;
  uint64_t primary_id = 0;

  absl::Status Ask(Arbitration& arbitration, uint64_t id) {
    return arbitration.Ask(this, id, [this](bool is_primary, uint64_t of) {
      primary = is_primary;
      primary_id = of;
    });
  }
};

TEST(Arbitration, WhileNobodyIsPrimaryOnlyIdZeroMayChangeTheFabric) {
  Arbitration arbitration;
  EXPECT_TRUE(arbitration.Check(0).ok());
  const absl::Status stale = arbitration.Check(3);
  EXPECT_EQ(stale.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(FieldErrorsOf(stale)[0].field, "election_id");
}

TEST(Arbitration, TheHighestIdHasTheRoleAndAllAreTold) {
  Arbitration arbitration;
  Client low, high;
  ASSERT_TRUE(low.Ask(arbitration, 5).ok());
  EXPECT_TRUE(*low.primary);
  ASSERT_TRUE(high.Ask(arbitration, 9).ok());
  EXPECT_TRUE(*high.primary);
  EXPECT_FALSE(*low.primary);
  EXPECT_EQ(low.primary_id, 9u);
  EXPECT_TRUE(arbitration.Check(9).ok());
  EXPECT_EQ(arbitration.Check(5).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(arbitration.Check(0).code(), absl::StatusCode::kPermissionDenied);
}

TEST(Arbitration, ALowerIdWaitsAndGetsTheRoleWhenTheHigherLeaves) {
  Arbitration arbitration;
  Client low, high;
  ASSERT_TRUE(high.Ask(arbitration, 9).ok());
  ASSERT_TRUE(low.Ask(arbitration, 5).ok());
  EXPECT_FALSE(*low.primary);
  arbitration.Leave(&high);
  EXPECT_TRUE(*low.primary);
  EXPECT_EQ(arbitration.Check(9).code(), absl::StatusCode::kPermissionDenied);
  arbitration.Leave(&low);
  EXPECT_TRUE(arbitration.Check(0).ok());
}

TEST(Arbitration, AClientMayChangeItsIdButNotTakeAnothers) {
  Arbitration arbitration;
  Client one, two;
  ASSERT_TRUE(one.Ask(arbitration, 5).ok());
  EXPECT_EQ(two.Ask(arbitration, 5).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(two.Ask(arbitration, 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(two.primary.has_value());
  ASSERT_TRUE(two.Ask(arbitration, 6).ok());
  ASSERT_TRUE(one.Ask(arbitration, 7).ok());
  EXPECT_TRUE(*one.primary);
  EXPECT_FALSE(*two.primary);
  EXPECT_EQ(arbitration.primary(), 7u);
}

TEST(Arbitration, NobodyCanAskForAnIdAboveThoseOfOperators) {
  Arbitration arbitration;
  Client client;
  for (const uint64_t id : {Arbitration::kMaxElectionId + 1, ~uint64_t{0}}) {
    const absl::Status refused = client.Ask(arbitration, id);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << id;
    EXPECT_EQ(FieldErrorsOf(refused)[0].field, "election_id");
  }
  EXPECT_TRUE(client.Ask(arbitration, Arbitration::kMaxElectionId).ok());
}

TEST(Arbitration, TheOperatorMayChangeTheFabricWhoeverIsPrimary) {
  constexpr uint64_t kOperator = Arbitration::kMaxElectionId + 12345;
  Arbitration arbitration(kOperator);
  Client client;
  EXPECT_TRUE(arbitration.Check(kOperator).ok());
  ASSERT_TRUE(client.Ask(arbitration, Arbitration::kMaxElectionId).ok());
  EXPECT_TRUE(arbitration.Check(kOperator).ok());
  EXPECT_EQ(arbitration.Check(kOperator + 1).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(arbitration.Check(0).code(), absl::StatusCode::kPermissionDenied);
  // Without an operator nobody has the operator's id.
  EXPECT_FALSE(Arbitration().Check(kOperator).ok());
}

TEST(Arbitration, ClientsThatAskAreLimited) {
  Arbitration arbitration;
  std::vector<Client> clients(Arbitration::kMaxClients + 1);
  for (size_t i = 0; i < Arbitration::kMaxClients; ++i) {
    ASSERT_TRUE(clients[i].Ask(arbitration, i + 1).ok());
  }
  EXPECT_EQ(clients.back().Ask(arbitration, 1000).code(), absl::StatusCode::kResourceExhausted);
  // A client that has asked may ask again, and a client that leaves makes room for another.
  EXPECT_TRUE(clients[0].Ask(arbitration, 2000).ok());
  arbitration.Leave(&clients[0]);
  EXPECT_TRUE(clients.back().Ask(arbitration, 1000).ok());
}

}  // namespace
}  // namespace bfly::control
