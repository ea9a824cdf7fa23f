// SPDX-License-Identifier: Apache-2.0
// Answers that could grow without bound: errors of many fields, and answers kept by key.
#include <gmock/gmock.h>

#include "control/intent/answered_keys.h"
#include "control/intent/idempotency.h"
#include "control/intent/request_digest.h"
#include "google/rpc/status.pb.h"
#include "tests/control/circuits_fixture.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Bytes of trailers as gRPC counts them: percent-encoded text, base64 details.
size_t TrailerSize(const grpc::Status& status) {
  size_t size = status.error_details().size() * 4 / 3 + 4;
  for (const char c : status.error_message()) size += c >= ' ' && c <= '~' && c != '%' ? 1 : 3;
  return size;
}

TEST(GrpcStatus, AGreatManyFieldsFitTheTrailersOfEveryClient) {
  for (const std::string text :
       {"is busy with circuit 17 (3 -> 4); release it first", "\xC3\xA4\xC3\xB6%\n"}) {
    for (const int fields : {1, 30, 100, 100'000}) {
      FieldErrors errors;
      for (int i = 0; i < fields; ++i) errors.Add("inputs[" + std::to_string(i) + "]", text);
      const absl::Status status = errors.ToStatus(absl::StatusCode::kFailedPrecondition);
      const grpc::Status sent = ToGrpc(status);
      EXPECT_LT(TrailerSize(sent), 7500u) << fields;
      const absl::Status arrived = FromGrpc(sent);
      EXPECT_EQ(arrived.code(), absl::StatusCode::kFailedPrecondition);
      const std::vector<FieldError> told = FieldErrorsOf(arrived);
      ASSERT_FALSE(told.empty());
      EXPECT_EQ(told[0], (FieldError{"inputs[0]", text}));
      if (fields == 100'000) {
        EXPECT_THAT(told.back().description,
                    HasSubstr("and " + std::to_string(fields - (told.size() - 1)) + " errors"));
        EXPECT_THAT(std::string(arrived.message()), HasSubstr("and more"));
      }
    }
  }
}

TEST(GrpcStatus, OneEndlessFieldIsCutToo) {
  FieldErrors errors;
  errors.Add(std::string(100'000, 'f'), std::string(100'000, '\xE2'));
  EXPECT_LT(TrailerSize(ToGrpc(errors.ToStatus())), 7500u);
}

// Through real gRPC, with a client's default limits.
TEST_F(CircuitsServiceTest, AllInputsBusyIsToldAsSuch) {
  Start(256);
  v1::RoutePermutationRequest request;
  request.set_protocol("collision");
  request.set_permutation("random");
  request.set_seed(3);
  ASSERT_TRUE(Ask(request).ok());
  const auto refused = Ask(request);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition) << refused.status();
  EXPECT_EQ(FieldsOf(refused.status()).at(0), "inputs[0]");
}

TEST_F(CircuitsServiceTest, WhatIsWrongWithAPermutationIsToldAtOnceBeforeWhatIsBusy) {
  Start(16);
  ASSERT_TRUE(SetUpCircuit(*controller_, 4, 4).ok());
  v1::RoutePermutationRequest request;
  request.set_protocol("bla");
  for (const uint32_t input : {1, 1, 4, 99}) request.add_inputs(input);
  for (const uint32_t output : {2, 3, 3, 77}) request.add_outputs(output);
  const auto refused = Ask(request);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << refused.status();
  EXPECT_THAT(
      FieldsOf(refused.status()),
      testing::ElementsAre("protocol", "inputs[1]", "outputs[2]", "inputs[3]", "outputs[3]"));
  request.set_protocol("minimum");
  request.mutable_inputs()->Truncate(1);
  request.mutable_outputs()->Truncate(1);
  request.set_inputs(0, 4);
  EXPECT_EQ(FieldsOf(Ask(request).status()), std::vector<std::string>{"inputs[0]"});
}

// Circuits that came later do not matter.
TEST_F(CircuitsServiceTest, ListTellsTheCongestionOfNow) {
  Start(256);
  v1::RoutePermutationRequest request;
  request.set_protocol("collision");
  request.set_permutation("random");
  request.set_seed(3);
  ASSERT_TRUE(Ask(request).ok());
  const std::vector<v1::Circuit> circuits = List(*controller_);
  std::map<std::tuple<int, uint32_t, uint32_t>, uint32_t> on;  // stage, row, next row
  for (const v1::Circuit& circuit : circuits) {
    for (int s = 0; s + 1 < circuit.rows_size(); ++s)
      ++on[{s, circuit.rows(s), circuit.rows(s + 1)}];
  }
  uint32_t above_one = 0;
  for (const v1::Circuit& circuit : circuits) {
    uint32_t most = 0;
    for (int s = 0; s + 1 < circuit.rows_size(); ++s) {
      most = std::max(most, on[{s, circuit.rows(s), circuit.rows(s + 1)}]);
    }
    EXPECT_EQ(circuit.congestion(), most) << circuit.id();
    above_one += most > 1;
  }
  EXPECT_GT(above_one, 10u);
}

TEST(IdempotencyKeys, TheOldestGoWhenAnswersHoldTooMuch) {
  IdempotencyKeys<int> keys(1000, 1000);
  keys.Put("a", "request a", 1, 400);
  keys.Put("b", "request b", 2, 400);
  EXPECT_EQ(**keys.Find("a", "request a"), 1);
  keys.Put("c", "request c", 3, 400);
  EXPECT_EQ(*keys.Find("a", "request a"), nullptr);
  EXPECT_EQ(**keys.Find("b", "request b"), 2);
  EXPECT_LE(keys.bytes(), 1000u);
  // The newest answer stays, however large it is.
  keys.Put("d", "request d", 4, 5000);
  EXPECT_EQ(keys.size(), 1u);
  EXPECT_EQ(**keys.Find("d", "request d"), 4);
}

// An answer with a mebibyte of what a batch can answer finds no more than 63 others beside it.
TEST(AnsweredKeys, ErrorsAndRoundsOfAnAnswerCountAsMemory) {
  const Outcome refused =
      ErrorAtField(absl::StatusCode::kFailedPrecondition, "input", std::string(1024, 'x'));
  RouteResult asked;
  asked.rounds_asked.resize(1 << 18);
  RouteResult left;
  left.requests_left.resize(1 << 18);
  for (const AnsweredKeys::Answer& answer :
       {AnsweredKeys::Answer(std::vector<Outcome>(1024, refused)), AnsweredKeys::Answer(asked),
        AnsweredKeys::Answer(left),
        AnsweredKeys::Answer(SingleReadsOutcome{.reads = {1024, refused}}),
        AnsweredKeys::Answer(ReadBatchOutcome{.routed = {.route = asked}, .circuits = {}})}) {
    SCOPED_TRACE(answer.index());
    AnsweredKeys keys;
    for (int i = 0; i < 70; ++i) keys.Put(std::to_string(i), "request", answer);
    keys.Commit();
    EXPECT_EQ(*keys.Find("5", "request"), nullptr);
    EXPECT_NE(*keys.Find("69", "request"), nullptr);
  }
}

// The digest may be kept on disk. `xxhsum -H2` prints these 128 bits for 300 bytes 'a'.
TEST(IdempotencyKeys, ADigestIsTheSameInEveryVersion) {
  EXPECT_EQ(DigestOf(std::string(300, 'a')), "long 300 5e563f2cb28d2005c1d17581d8eb7e21");
  EXPECT_EQ(DigestOf("short"), "short");
}

TEST(IdempotencyKeys, LongRequestsAreToldApartThoughTheyAreNotKept) {
  IdempotencyKeys<int> keys(1000, 1 << 20);
  std::string request(1'000'000, 'x');
  keys.Put("k", request, 1, 0);
  EXPECT_LT(keys.bytes(), 1000u);
  EXPECT_EQ(**keys.Find("k", request), 1);
  for (const size_t at : {size_t{0}, request.size() / 2, request.size() - 1}) {
    std::string other = request;
    other[at] = 'y';
    EXPECT_EQ(keys.Find("k", other).status().code(), absl::StatusCode::kInvalidArgument) << at;
  }
  EXPECT_EQ(keys.Find("k", request + "x").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace bfly::control
