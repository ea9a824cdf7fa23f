// SPDX-License-Identifier: Apache-2.0
// Links with a circuit capacity, and links and nodes that are down: what workers refuse in band, a
// controller that is asked the same refuses with the same words, and both count it as blocked.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/control/in_band_fixture.h"

namespace bfly::control {
namespace {

// The fabric of workers, where every request is in band, stands beside a fabric without workers,
// whose controller chooses by itself.
class InBandRoomTest : public InBandServiceTest {
 protected:
  void StartBoth(const v1::Topology& topology) {
    Start(topology);
    books_controller_.reset();
    books_agent_.reset();
    books_agent_ =
        std::make_unique<TestAgent>(books_directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    books_controller_ = std::make_unique<TestController>(books_directory_.path());
    ASSERT_TRUE(Load(*books_controller_, topology).ok());
  }
  // Sends the request to both and returns their answer; the answers must agree.
  template <class Stub, class Method, class Request>
  auto AskBoth(std::unique_ptr<Stub> TestController::*stub, Method method, Request request) {
    auto by_books = Call(*((*books_controller_).*stub), method, request);
    request.set_in_band(true);
    auto in_band = Call(*((*controller_).*stub), method, request);
    EXPECT_EQ(in_band.status().code(), by_books.status().code())
        << in_band.status() << "; " << by_books.status();
    EXPECT_EQ(FieldsOf(in_band.status()), FieldsOf(by_books.status()));
    if (absl::IsResourceExhausted(in_band.status()) || absl::IsUnavailable(in_band.status())) {
      EXPECT_EQ(in_band.status().message(), by_books.status().message());
      ++refused_;
    }
    EXPECT_EQ(CircuitsOf(*controller_).DebugString(), CircuitsOf(*books_controller_).DebugString());
    EXPECT_EQ(PathsOf(*controller_), PathsOf(*books_controller_));
    return in_band;
  }
  // `circuit` is one in band; the controller has given the other one an id of its own.
  void ReleaseAtBoth(const v1::Circuit& circuit) {
    EXPECT_TRUE(Release(circuit.id()).ok());
    for (const v1::Circuit& other : List(*books_controller_)) {
      if (other.input() != circuit.input()) continue;
      EXPECT_TRUE(ReleaseCircuit(*books_controller_, other.id()).ok());
    }
  }
  static v1::CircuitCounters CircuitsOf(TestController& controller) {
    const auto counters =
        Call(*controller.telemetry, &v1::Telemetry::Stub::GetCounters, v1::GetCountersRequest());
    EXPECT_TRUE(counters.ok()) << counters.status();
    return counters.ok() ? counters->circuits() : v1::CircuitCounters();
  }
  // The rows of every circuit, by input.
  static std::map<uint32_t, std::vector<uint32_t>> PathsOf(TestController& controller) {
    std::map<uint32_t, std::vector<uint32_t>> paths;
    for (const v1::Circuit& circuit : List(controller)) {
      paths[circuit.input()] = {circuit.rows().begin(), circuit.rows().end()};
    }
    return paths;
  }

  FakeBoard board_;
  TemporaryFolder books_directory_;
  std::unique_ptr<TestAgent> books_agent_;
  std::unique_ptr<TestController> books_controller_;
  int refused_ = 0;
};

TEST_F(InBandRoomTest, CircuitsAreRefusedAsTheControllerWould) {
  v1::Topology topology = SmallTopology(false, 16);
  topology.mutable_circuits()->set_capacity(1);
  v1::LinkCapacity* wide = topology.mutable_circuits()->add_link_capacities();
  wide->set_stage(3);
  wide->set_row(5);
  wide->set_port(1);
  wide->set_capacity(3);
  StartBoth(topology);
  std::mt19937 random(3);
  for (int step = 0; step < 80; ++step) {
    SCOPED_TRACE(step);
    const Row input = random() % 16;
    const std::vector<v1::Circuit> standing = List(*controller_);
    const auto held = std::find_if(standing.begin(), standing.end(),
                                   [&](const v1::Circuit& c) { return c.input() == input; });
    if (step % 10 == 9) {
      // A permutation of some rows replaces the circuits at these rows.
      v1::RoutePermutationRequest request;
      request.set_protocol(step % 20 == 9 ? "collision" : "minimum");
      request.set_replace(true);
      for (Row row = input % 4; row < 16; row += 1 + random() % 3) {
        request.add_inputs(row);
        request.add_outputs((row * 5 + static_cast<Row>(step)) % 16);
      }
      AskBoth(&TestController::circuits, &v1::Circuits::Stub::RoutePermutation, request)
          .status()
          .IgnoreError();
    } else if (held == standing.end()) {
      v1::SetUpRequest request;
      request.set_input(input);
      request.set_output(random() % 16);
      AskBoth(&TestController::circuits, &v1::Circuits::Stub::SetUp, request)
          .status()
          .IgnoreError();
    } else {
      ReleaseAtBoth(*held);
    }
    if (step % 10 >= 8) ExpectEverybodyCountsTheSame();
    if (HasFailure()) FAIL();
  }
  EXPECT_GT(refused_, 5);
  EXPECT_GT(CircuitsOf(*controller_).blocked(), 5u);
}

// Links and nodes go down and come back, with room for all and with little.
TEST_F(InBandRoomTest, AroundWhatIsDownBothTakeTheSamePaths) {
  for (const uint32_t capacity : {0u, 1u}) {
    v1::Topology topology = SmallTopology(false, 16);
    topology.mutable_circuits()->set_capacity(capacity);
    StartBoth(topology);
    const int refused_before = refused_;
    std::mt19937 random(5 + capacity);
    std::vector<v1::SetLinkStateRequest> down;
    std::vector<v1::SetNodeStateRequest> nodes_down;
    uint32_t refused_for_nodes = 0;
    for (int step = 0; step < 200; ++step) {
      SCOPED_TRACE(testing::Message() << "capacity " << capacity << ", step " << step);
      const Row input = random() % 16;
      const std::vector<v1::Circuit> standing = List(*controller_);
      const auto held = std::find_if(standing.begin(), standing.end(),
                                     [&](const v1::Circuit& c) { return c.input() == input; });
      if (step % 9 == 0) {
        v1::SetNodeStateRequest node;
        if (nodes_down.size() > 2) {
          node = nodes_down.front();
          node.set_up(true);
          nodes_down.erase(nodes_down.begin());
        } else {
          node.set_level(random() % 9);
          node.set_row(random() % 16);
          nodes_down.push_back(node);
        }
        for (TestController* controller : {controller_.get(), books_controller_.get()}) {
          ASSERT_TRUE(Call(*controller->fabric, &v1::Fabric::Stub::SetNodeState, node).ok());
        }
      } else if (step % 3 == 0) {
        v1::SetLinkStateRequest link;
        if (down.size() > 30 || (!down.empty() && random() % 6 == 0)) {
          link = down.front();
          link.set_up(true);
          down.erase(down.begin());
        } else {
          link.set_stage(random() % 8);
          link.set_row(random() % 16);
          link.set_port(random() % 2);
          down.push_back(link);
        }
        for (TestController* controller : {controller_.get(), books_controller_.get()}) {
          ASSERT_TRUE(Call(*controller->fabric, &v1::Fabric::Stub::SetLinkState, link).ok());
        }
      } else if (step % 10 == 7) {
        v1::RoutePermutationRequest request;
        request.set_protocol(step % 20 == 7 ? "collision" : "minimum");
        request.set_replace(true);
        for (Row row = input % 4; row < 16; row += 2 + random() % 4) {
          request.add_inputs(row);
          request.add_outputs((row * 5 + static_cast<Row>(step)) % 16);
        }
        AskBoth(&TestController::circuits, &v1::Circuits::Stub::RoutePermutation, request)
            .status()
            .IgnoreError();
      } else if (held == standing.end()) {
        v1::SetUpRequest request;
        request.set_input(input);
        request.set_output(random() % 16);
        const absl::Status status =
            AskBoth(&TestController::circuits, &v1::Circuits::Stub::SetUp, request).status();
        refused_for_nodes += status.message().find("is down with node l") != std::string::npos;
      } else {
        ReleaseAtBoth(*held);
      }
      if (step % 10 == 9) ExpectEverybodyCountsTheSame();
      if (HasFailure()) FAIL();
    }
    EXPECT_GT(refused_, refused_before + 3);
    EXPECT_GT(refused_for_nodes, 0u);
  }
}

TEST_F(InBandRoomTest, ReadsAreRefusedAsTheControllerWould) {
  v1::Topology topology = RandomlyWired(16);
  topology.mutable_circuits()->set_capacity(1);
  StartBoth(topology);
  for (TestController* controller : {controller_.get(), books_controller_.get()}) {
    for (const uint32_t copies : {1u, 2u}) {
      v1::PlaceRequest place;
      place.set_first(copies * 100);
      place.set_count(32);
      place.set_copies(copies);
      place.set_seed(4);
      ASSERT_TRUE(Call(*controller->data_server, &v1::DataServer::Stub::Place, place).ok());
    }
  }
  std::mt19937 random(5);
  for (int step = 0; step < 80; ++step) {
    SCOPED_TRACE(step);
    const uint64_t first = random() % 3 == 0 ? 100 : 200;
    if (step % 10 == 9) {
      v1::ObjectBatchRequest request;
      request.set_protocol(step % 20 == 9 ? "collision" : "minimum");
      const std::map<uint32_t, std::vector<uint32_t>> busy = PathsOf(*controller_);
      for (uint32_t user = 0; user < 16; ++user) {
        if (busy.contains(user)) continue;
        request.add_users(user);
        request.add_objects(first + 16 + user);
      }
      AskBoth(&TestController::data_server, &v1::DataServer::Stub::RequestBatch, request)
          .status()
          .IgnoreError();
    } else if (random() % 3 == 0) {
      v1::ReleaseObjectRequest request;
      request.set_user(random() % 16);
      AskBoth(&TestController::data_server, &v1::DataServer::Stub::Release, request)
          .status()
          .IgnoreError();
    } else {
      v1::ObjectRequest request;
      request.set_user(random() % 16);
      request.set_object(first + random() % 16);
      AskBoth(&TestController::data_server, &v1::DataServer::Stub::Request, request)
          .status()
          .IgnoreError();
    }
    if (step % 10 >= 8) ExpectEverybodyCountsTheSame();
    if (HasFailure()) FAIL();
  }
  EXPECT_GT(refused_, 5);
  EXPECT_EQ(CircuitsOf(*controller_).blocked(), static_cast<uint64_t>(refused_));
}

// Circuits that were to be replaced stand again with their ids, and carry packets again.
TEST_F(InBandRoomTest, ARefusalLeavesTheCircuitsItWasToReplace) {
  v1::Topology topology = SmallTopology(false, 16);
  topology.mutable_circuits()->set_capacity(1);
  StartBoth(topology);
  for (const auto& [input, output] : {std::pair{3u, 9u}, {4u, 2u}, {12u, 0u}}) {
    ASSERT_TRUE(SetUpInBand(input, output).ok());
  }
  const std::vector<v1::Circuit> before = List(*controller_);
  v1::RoutePermutationRequest request;
  request.set_protocol("collision");
  request.set_permutation("random");
  request.set_replace(true);
  request.set_in_band(true);
  const absl::Status status = Route(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  ASSERT_EQ(FieldsOf(status).size(), 1u);
  EXPECT_THAT(FieldsOf(status)[0], testing::MatchesRegex("paths\\[[0-9]+\\]\\.link"));
  const std::vector<v1::Circuit> after = List(*controller_);
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].DebugString(), before[i].DebugString());
  }
  ExpectEverybodyCountsTheSame();
  // The controller still agrees with its data plane.
  ASSERT_TRUE(Release(before[1].id()).ok());
  ASSERT_TRUE(SetUpCircuit(*controller_, before[1].input(), before[1].output()).ok());
  ExpectEverybodyCountsTheSame();
}

}  // namespace
}  // namespace bfly::control
