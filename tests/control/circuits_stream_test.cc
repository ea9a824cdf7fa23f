// SPDX-License-Identifier: Apache-2.0
// Many circuit operations at a time over real gRPC: streams, clients that stop reading, callers at
// the same time, and random sequences of all of these.
#include <gmock/gmock.h>

#include <random>

#include "tests/control/circuits_fixture.h"

namespace bfly::control {
namespace {

TEST_F(CircuitsServiceTest, AStreamAnswersEveryOperationInOrder) {
  Start(256);
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = controller_->circuits->Stream(&context);
  constexpr int kOperations = 1000;
  std::thread writer([&] {
    for (int i = 0; i < kOperations; ++i) {
      v1::CircuitOperation operation;
      operation.set_tag(i);
      if (i % 4 == 3) {
        operation.mutable_release()->set_id(4711'000'000);
      } else if (i % 4 == 2) {
        // neither field is set: refused, and the stream goes on
      } else {
        operation.mutable_set_up()->set_input(i / 4);
        operation.mutable_set_up()->set_output(i / 4);
      }
      ASSERT_TRUE(stream->Write(operation));
    }
    stream->WritesDone();
  });
  v1::CircuitResult result;
  uint64_t expected = 0;
  while (stream->Read(&result)) {
    EXPECT_EQ(result.tag(), expected);
    // Of every four operations the first sets a circuit up, the second repeats it, the third is
    // empty, and the fourth names an unknown circuit.
    const int codes[] = {0, 9, 3, 5};
    EXPECT_EQ(result.code(), codes[expected % 4]) << result.message();
    ++expected;
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(expected, uint64_t{kOperations});
  EXPECT_EQ(List(*controller_).size(), 250u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

// As many operations are under way as a client with a thousand rows has, one in each message, and
// the writes of a burst are held together. Every operation is answered, although nothing else wakes
// the server.
TEST_F(CircuitsServiceTest, AStreamOfSingleOperationsNeverStandsStill) {
  constexpr uint32_t kRows = 1024;
  constexpr uint32_t kRounds = 20;
  Start(kRows);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(120));
  const auto stream = controller_->circuits->Stream(&context);
  std::vector<std::atomic<uint64_t>> ids(kRows);
  std::atomic<uint32_t> answered = 0;
  std::thread writer([&] {
    for (uint32_t round = 0; round < 2 * kRounds; ++round) {
      for (uint32_t row = 0; row < kRows; ++row) {
        v1::CircuitOperation operation;
        operation.set_tag(row);
        if (round % 2 == 0) {
          operation.mutable_set_up()->set_input(row);
          operation.mutable_set_up()->set_output(kRows - 1 - row);
        } else {
          operation.mutable_release()->set_id(ids[row]);
        }
        grpc::WriteOptions options;
        if (row + 1 < kRows) options.set_buffer_hint();
        ASSERT_TRUE(stream->Write(operation, options)) << round << ", row " << row;
      }
      while (answered < (round + 1) * kRows) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        if (std::chrono::system_clock::now() > context.deadline()) return;
      }
    }
    stream->WritesDone();
  });
  v1::CircuitResult result;
  while (stream->Read(&result)) {
    EXPECT_EQ(result.code(), 0) << result.message();
    ids[result.tag()] = result.circuit().id();
    ++answered;
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(answered, 2 * kRounds * kRows);
  EXPECT_TRUE(List(*controller_).empty());
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(CircuitsServiceTest, AClientThatStopsReadingItsStreamHoldsNobodyUp) {
  Start(256);
  grpc::ClientContext context;
  SetDeadline(context);
  // Little room on the way, so that it is soon full.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 16);
  const auto circuits = v1::Circuits::NewStub(
      grpc::CreateCustomChannel(SocketAddress(directory_.path(), "controller"),
                                grpc::InsecureChannelCredentials(), arguments));
  const auto stream = circuits->Stream(&context);
  // A stream that nobody reads takes fewer answers than these, so writing is held back at last.
  std::atomic<int> written = 0;
  std::thread writer([&] {
    v1::CircuitOperation operation;
    operation.mutable_set_up()->set_input(5);
    operation.mutable_set_up()->set_output(5);
    operation.mutable_set_up()->set_idempotency_key(std::string(200, 'k'));
    while (written < 1'000'000 && stream->Write(operation)) ++written;
  });
  int before = -1;
  EXPECT_TRUE(Eventually([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return std::exchange(before, written.load()) == written.load();
  }));
  EXPECT_LT(written, 1'000'000);
  EXPECT_TRUE(SetUpCircuit(*controller_, 9, 9).ok());
  context.TryCancel();
  writer.join();
  v1::CircuitResult result;
  while (stream->Read(&result)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(CircuitsServiceTest, CallersAtTheSameTimeAreAllServedOnceEach) {
  Start(256);
  std::vector<std::thread> callers;
  std::atomic<int> done = 0;
  for (uint32_t caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t row = i * 8 + caller;
        const auto circuit = SetUpCircuit(*controller_, row, row);
        if (circuit.ok() && i % 2 == 1 &&
            !ReleaseCircuit(*controller_, circuit->circuit().id()).ok()) {
          continue;
        }
        done += circuit.ok();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 256);
  EXPECT_EQ(List(*controller_).size(), 128u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

// The property: after random sequences of all operations, including refused ones and ones that the
// data plane cannot carry out, the counts of every link equal a recount, and the data plane holds
// the listed circuits.
TEST_F(CircuitsServiceTest, AfterRandomSequencesOfEverythingTheCountsEqualARecount) {
  Start();
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    std::mt19937 random(seed);
    std::vector<uint64_t> ids = {0};
    for (int step = 0; step < 60; ++step) {
      board_.RefuseInputs(random() % 4 == 0 ? std::set<Row>{Row(random() % 16)} : std::set<Row>{});
      switch (random() % 6) {
        case 0:
        case 1: {
          const auto circuit =
              SetUpCircuit(*controller_, random() % 18, random() % 18, random() % 8 == 0,
                           random() % 4 == 0 ? "k" + std::to_string(random() % 8) : "");
          if (circuit.ok()) ids.push_back(circuit->circuit().id());
          break;
        }
        case 2:
          ReleaseCircuit(*controller_, ids[random() % ids.size()]).status().IgnoreError();
          break;
        case 3: {
          v1::SetUpBatchRequest batch;
          batch.set_all_or_nothing(random() % 2);
          for (int i = 0; i < 5; ++i) {
            v1::SetUpRequest* request = batch.add_requests();
            request->set_input(random() % 17);
            request->set_output(random() % 17);
          }
          if (const auto results = Ask(batch); results.ok()) {
            for (const auto& result : results->results()) {
              if (result.code() == 0) ids.push_back(result.circuit().id());
            }
          }
          break;
        }
        case 4: {
          v1::RoutePermutationRequest permutation;
          permutation.set_protocol(random() % 2 ? "minimum" : "greedy");
          permutation.set_seed(random());
          permutation.set_replace(random() % 2);
          permutation.set_dry_run(random() % 4 == 0);
          for (int i = 0; i < 4; ++i) {
            permutation.add_inputs(random() % 16);
            permutation.add_outputs(random() % 16);
          }
          Ask(permutation).status().IgnoreError();
          break;
        }
        case 5:
          for (const v1::Circuit& circuit : List(*controller_)) {
            if (random() % 3 == 0)
              ReleaseCircuit(*controller_, circuit.id()).status().IgnoreError();
          }
          break;
      }
      ExpectCountsEqualRecount(*controller_, agent_.get());
      if (HasFailure()) {
        FAIL() << "seed " << seed << " step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace bfly::control
