// SPDX-License-Identifier: Apache-2.0
// All operations at the same time, and all in random order. Whatever was refused, the counts of the
// links equal a recount afterwards, and the data plane holds the listed circuits.
#include <gmock/gmock.h>

#include <random>

#include "tests/control/circuits_fixture.h"

namespace bfly::control {
namespace {

using testing::AnyOf;

v1::Topology RandomlyWired(uint32_t rows, uint32_t capacity) {
  v1::Topology topology = SmallTopology(false, rows);
  topology.mutable_network()->set_kind(v1::RANDOMLY_WIRED_BUTTERFLY);
  int stages = 0;
  for (uint32_t n = rows; n > 1; n /= 2) ++stages;
  topology.mutable_placement(0)->set_stages("0-" + std::to_string(stages - 1));
  topology.mutable_circuits()->set_capacity(capacity);
  return topology;
}

using EverythingTest = CircuitsServiceTest;

TEST_F(EverythingTest, ACircuitIsReleasedOnce) {
  Start();
  const uint64_t id = SetUpCircuit(*controller_, 3, 5)->circuit().id();
  ASSERT_TRUE(ReleaseCircuit(*controller_, id).ok());
  const absl::Status again = ReleaseCircuit(*controller_, id).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FieldsOf(again), std::vector<std::string>{"id"});
  // The next circuit at this input is not released by the id of the one before.
  ASSERT_TRUE(SetUpCircuit(*controller_, 3, 5).ok());
  EXPECT_EQ(ReleaseCircuit(*controller_, id).status().code(), absl::StatusCode::kNotFound);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(EverythingTest, SetUpsWhileTheTopologyIsReplacedAreOfOneFabricOrTheOther) {
  Start(16);
  std::atomic<bool> over = false;
  std::atomic<int> done = 0;
  std::vector<std::thread> callers;
  for (uint32_t caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&, caller] {
      std::mt19937 random(caller);
      while (!over) {
        const auto circuit = SetUpCircuit(*controller_, random() % 32, random() % 32);
        if (!circuit.ok()) {
          // a row that the smaller fabric does not have, or a busy one
          EXPECT_THAT(circuit.status().code(), AnyOf(absl::StatusCode::kInvalidArgument,
                                                     absl::StatusCode::kFailedPrecondition))
              << circuit.status();
          continue;
        }
        ++done;
        // 16 rows have 9 levels, 32 rows have 11.
        const int levels = circuit->circuit().rows_size();
        EXPECT_THAT(levels, AnyOf(9, 11));
        EXPECT_LT(circuit->circuit().input(), levels == 9 ? 16u : 32u);
        if (random() % 2 == 0) continue;
        const absl::Status released =
            ReleaseCircuit(*controller_, circuit->circuit().id()).status();
        EXPECT_THAT(released.code(), AnyOf(absl::StatusCode::kOk, absl::StatusCode::kNotFound))
            << released;
      }
    });
  }
  for (int i = 0; i < 12; ++i) {
    const int before = done;
    EXPECT_TRUE(Load(*controller_, SmallTopology(false, i % 2 ? 16 : 32), true).ok());
    EXPECT_TRUE(Eventually([&] { return done > before; }));
  }
  over = true;
  for (std::thread& caller : callers) caller.join();
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

// Two clients take the primary role from each other again and again. A set-up counts only if its
// client was primary at that moment.
TEST_F(EverythingTest, OfTwoPrimariesOneAtATimeSetsCircuitsUp) {
  Start(64);
  std::atomic<uint64_t> next_id = 1;
  std::atomic<int> refused = 0;
  std::set<uint64_t> set_up[2];
  std::vector<std::thread> clients;
  for (int client = 0; client < 2; ++client) {
    clients.emplace_back([&, client] {
      grpc::ClientContext context;
      SetDeadline(context);
      const auto role = controller_->fabric->Arbitrate(&context);
      v1::ArbitrateRequest ask;
      for (uint32_t i = 0; i < 32; ++i) {
        ask.set_election_id(next_id++);
        ASSERT_TRUE(role->Write(ask));
        const auto circuit =
            SetUpCircuit(*controller_, 2 * i + client, 2 * i + client, ask.election_id());
        if (circuit.ok()) {
          set_up[client].insert(circuit->circuit().id());
        } else {
          EXPECT_EQ(circuit.status().code(), absl::StatusCode::kPermissionDenied);
          ++refused;
        }
      }
      context.TryCancel();
      v1::ArbitrateResponse answer;
      while (role->Read(&answer)) {
      }
      static_cast<void>(role->Finish());
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(set_up[0].size() + set_up[1].size() + refused, 64u);
  std::set<uint64_t> all = set_up[0];
  all.insert(set_up[1].begin(), set_up[1].end());
  std::set<uint64_t> listed;
  for (const v1::Circuit& circuit : List(*controller_)) listed.insert(circuit.id());
  EXPECT_EQ(listed, all);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

class Actor {
 public:
  Actor(TestController& controller, FakeBoard& board, uint32_t seed)
      : controller_(controller), board_(board), random_(seed) {}

  void Act() {
    {
      const std::lock_guard lock(board_.mutex);
      board_.refused_inputs = {};
      if (Of(5) == 0) board_.refused_inputs.insert(Of(16));
    }
    switch (Of(10)) {
      case 0:
        Keep(SetUpCircuit(controller_, Of(18), Of(18), Of(8) == 0, Of(4) == 0 ? Key() : ""));
        break;
      case 1:
        ReleaseCircuit(controller_, AnyId()).status().IgnoreError();
        break;
      case 2:
        Batch();
        break;
      case 3:
        Permutation();
        break;
      case 4:
        Stream();
        break;
      case 5:
        Replace();
        break;
      case 6:
        Place();
        break;
      case 7:
      case 8:
        Read();
        break;
      case 9:
        v1::ReleaseObjectRequest request;
        request.set_user(Of(17));
        Call(*controller_.data_server, &v1::DataServer::Stub::Release, request)
            .status()
            .IgnoreError();
        break;
    }
  }

 private:
  uint32_t Of(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  std::string Key() { return "k" + std::to_string(Of(8)); }
  uint64_t AnyId() { return ids_[Of(static_cast<uint32_t>(ids_.size()))]; }
  void Keep(const absl::StatusOr<v1::SetUpResponse>& circuit) {
    if (circuit.ok()) ids_.push_back(circuit->circuit().id());
  }
  // Some calls are cancelled a moment after they begin, or have hardly any time.
  void Hurry(grpc::ClientContext& context) {
    if (Of(3) == 0) {
      context.set_deadline(std::chrono::system_clock::now() +
                           std::chrono::microseconds(200 + Of(1500)));
    } else {
      SetDeadline(context);
    }
  }
  void Batch() {
    v1::SetUpBatchRequest batch;
    batch.set_all_or_nothing(Of(2));
    if (Of(4) == 0) batch.set_idempotency_key(Key());
    for (uint32_t i = Of(40); i > 0; --i) {
      v1::SetUpRequest* request = batch.add_requests();
      request->set_input(Of(17));
      request->set_output(Of(17));
    }
    grpc::ClientContext context;
    Hurry(context);
    v1::SetUpBatchResponse response;
    static_cast<void>(controller_.circuits->SetUpBatch(&context, batch, &response));
    for (const v1::CircuitResult& result : response.results()) {
      if (result.code() == 0) ids_.push_back(result.circuit().id());
    }
  }
  void Permutation() {
    v1::RoutePermutationRequest permutation;
    permutation.set_protocol(Of(2) ? "minimum" : "greedy");
    permutation.set_seed(Of(1000));
    permutation.set_replace(Of(2));
    for (int i = 0; i < 4; ++i) {
      permutation.add_inputs(Of(16));
      permutation.add_outputs(Of(16));
    }
    grpc::ClientContext context;
    Hurry(context);
    v1::RoutePermutationResponse response;
    static_cast<void>(controller_.circuits->RoutePermutation(&context, permutation, &response));
  }
  void Stream() {
    grpc::ClientContext context;
    SetDeadline(context);
    const auto stream = controller_.circuits->Stream(&context);
    const uint32_t messages = 1 + Of(6);
    for (uint32_t i = 0; i < messages; ++i) {
      v1::CircuitOperation message;
      const uint32_t members = Of(2) == 0 ? 0 : 1 + Of(8);
      for (uint32_t j = 0; j < std::max(1u, members); ++j) {
        v1::CircuitOperation* one =
            members == 0 ? &message : message.mutable_batch()->add_operations();
        if (Of(3) == 0) {
          one->mutable_release()->set_id(AnyId());
        } else {
          one->mutable_set_up()->set_input(Of(17));
          one->mutable_set_up()->set_output(Of(17));
        }
      }
      if (!stream->Write(message)) break;
    }
    // Half of the clients leave without reading the answers.
    if (Of(2) == 0) {
      context.TryCancel();
      static_cast<void>(stream->Finish());
      return;
    }
    stream->WritesDone();
    v1::CircuitResult result;
    while (stream->Read(&result)) {
      if (result.has_circuit()) ids_.push_back(result.circuit().id());
    }
    EXPECT_TRUE(stream->Finish().ok());
  }
  // Also loads a fabric whose links have another capacity.
  void Replace() {
    if (Of(4) != 0) return;
    v1::Topology topology = RandomlyWired(16, Of(3));
    if (Of(4) == 0) topology.mutable_network()->set_rows(3);
    if (Of(2) == 0) topology = SmallTopology();
    Load(controller_, topology, /*replace=*/Of(8) != 0).IgnoreError();
  }
  void Place() {
    v1::PlaceRequest request;
    request.set_first(Of(40));
    request.set_count(1 + Of(10));
    request.set_copies(1 + Of(2));
    request.set_seed(Of(9));
    request.set_room(Of(4));
    request.set_replace(Of(4) == 0);
    Call(*controller_.data_server, &v1::DataServer::Stub::Place, request).status().IgnoreError();
  }
  void Read() {
    v1::ObjectBatchRequest request;
    for (uint32_t i = Of(5); i > 0; --i) {
      request.add_users(Of(17));
      request.add_objects(Of(50));
    }
    if (Of(2) == 0) {
      v1::ObjectRequest one;
      one.set_user(Of(17));
      one.set_object(Of(50));
      Call(*controller_.data_server, &v1::DataServer::Stub::Request, one).status().IgnoreError();
    } else {
      Call(*controller_.data_server, &v1::DataServer::Stub::RequestBatch, request)
          .status()
          .IgnoreError();
    }
  }

  TestController& controller_;
  FakeBoard& board_;
  std::mt19937 random_;
  std::vector<uint64_t> ids_ = {0};
};

TEST_F(EverythingTest, InRandomOrderLeavesNoPartialState) {
  Start();
  ASSERT_TRUE(Load(*controller_, RandomlyWired(16, 2), true).ok());
  size_t most = 0;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    Actor actor(*controller_, board_, seed);
    for (int step = 0; step < 80; ++step) {
      actor.Act();
      // What a client that is gone asked for may still be under way.
      ASSERT_TRUE(controller_->controller().Commit(0, InAMinute(), [](FabricState&) {}).ok());
      ExpectCountsEqualRecount(*controller_, agent_.get());
      most = std::max(most, List(*controller_).size());
      if (HasFailure()) {
        FAIL() << "seed " << seed << " step " << step;
      }
    }
  }
  EXPECT_GT(most, 5u);
}

}  // namespace
}  // namespace bfly::control
