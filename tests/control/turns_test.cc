// SPDX-License-Identifier: Apache-2.0
// Callers that ask for far more than others: each gets its turn.
#include "control/controller/turns.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <map>
#include <random>

#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;

// Serves one request of each caller after the other, as they came.
std::vector<bool> InTurnPlainly(const std::vector<uint64_t>& callers, size_t most) {
  std::map<uint64_t, std::deque<size_t>> waiting;
  std::vector<uint64_t> order;  // callers, by their first request
  for (size_t i = 0; i < callers.size(); ++i) {
    if (waiting[callers[i]].empty()) order.push_back(callers[i]);
    waiting[callers[i]].push_back(i);
  }
  std::vector<bool> next(callers.size(), false);
  for (size_t served = 0; served < std::min(most, callers.size());) {
    // Within a turn, requests are served as they came.
    std::vector<size_t> turn;
    for (const uint64_t caller : order) {
      if (waiting[caller].empty()) continue;
      turn.push_back(waiting[caller].front());
      waiting[caller].pop_front();
    }
    std::sort(turn.begin(), turn.end());
    for (size_t i = 0; i < turn.size() && served < most; ++i, ++served) next[turn[i]] = true;
  }
  return next;
}

TEST(Turns, TheOldestRequestOfEachCallerComesFirst) {
  EXPECT_THAT(NextInTurn({7, 7, 7, 7, 8, 9}, 3),
              ElementsAre(true, false, false, false, true, true));
  EXPECT_THAT(NextInTurn({7, 7, 7, 7, 8, 9}, 5), ElementsAre(true, true, true, false, true, true));
  EXPECT_THAT(NextInTurn({7, 8}, 2), ElementsAre(true, true));
  EXPECT_THAT(NextInTurn({}, 2), ElementsAre());
}

TEST(Turns, AreAsIfCallersWereServedOneAfterTheOther) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<uint64_t> callers(random() % 60);
    // Some callers ask far more often than others.
    for (uint64_t& caller : callers) caller = std::min(random() % 9, random() % 9);
    const size_t most = 1 + random() % 40;
    ASSERT_EQ(NextInTurn(callers, most), InTurnPlainly(callers, most)) << "round " << round;
  }
}

TEST(Turns, ACallerThatFloodsTheControllerDoesNotDelayAnother) {
  constexpr int kFlood = 900;
  FakeBoard board;
  const TemporaryFolder directory;
  TestAgent agent(directory.path(), "dp0", FakeBackend(board, "dp0"));
  TestController controller(directory.path());
  ASSERT_TRUE(Load(controller, SmallTopology(/*split=*/false, 1024)).ok());
  board.CloseGate();
  // The first set-up waits for the data plane, and the others for it.
  auto first = std::async(std::launch::async, [&] { return SetUpCircuit(controller, 1023, 0); });
  ASSERT_TRUE(Eventually([&] { return board.SomethingWaits(); }));
  struct Asked {
    grpc::ClientContext context;
    v1::SetUpRequest request;
    v1::SetUpResponse response;
  };
  std::deque<Asked> flood;
  std::atomic<int> answered = 0;
  for (uint32_t row = 0; row < kFlood; ++row) {
    Asked& asked = flood.emplace_back();
    SetDeadline(asked.context);
    asked.request.set_input(row);
    asked.request.set_output(row + 1);
    controller.circuits->async()->SetUp(&asked.context, &asked.request, &asked.response,
                                        [&answered](const grpc::Status& status) {
                                          EXPECT_TRUE(status.ok()) << status.error_message();
                                          ++answered;
                                        });
  }
  const Resource& orders = controller.controller().resources().orders;
  ASSERT_TRUE(Eventually([&] { return orders.in_use() == kFlood + 1; }));
  grpc::ChannelArguments own;
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1::Circuits::NewStub(grpc::CreateCustomChannel(
      SocketAddress(directory.path(), "controller"), grpc::InsecureChannelCredentials(), own));
  auto other = std::async(std::launch::async, [&] {
    v1::SetUpRequest request;
    request.set_input(1000);
    request.set_output(1001);
    return Call(*stub, &v1::Circuits::Stub::SetUp, request);
  });
  ASSERT_TRUE(Eventually([&] { return orders.in_use() == kFlood + 2; }));
  board.OpenGate();
  EXPECT_TRUE(other.get().ok());
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(Eventually([&] { return answered == kFlood; }));
  std::vector<std::string> installed = board.TakeLog();
  std::erase_if(installed, [](const std::string& what) { return !what.starts_with("install"); });
  const auto at = std::find(installed.begin(), installed.end(), "install 1000");
  ASSERT_NE(at, installed.end());
  EXPECT_LE(at - installed.begin(), static_cast<long>(CommitQueue::kMostInBatch));
  EXPECT_EQ(installed.size(), kFlood + 2u);
}

}  // namespace
}  // namespace bfly::control
