// SPDX-License-Identifier: Apache-2.0
// The memory of a message is known before the message is parsed.
#include "control/server/message_bytes.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "bfly/v1/circuits.pb.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

grpc::ByteBuffer BufferOf(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

TEST(ParsedSize, IsBetweenHalfAndThreeTimesWhatProtobufTakes) {
  std::vector<std::unique_ptr<google::protobuf::Message>> messages;
  auto batch = std::make_unique<v1::SetUpBatchRequest>();
  for (int i = 0; i < 10'000; ++i) batch->add_requests();
  messages.push_back(std::move(batch));
  auto paths = std::make_unique<v1::SetUpBatchRequest>();
  for (int i = 0; i < 1'000; ++i) {
    v1::SetUpRequest* request = paths->add_requests();
    request->set_idempotency_key(std::string(100, 'k'));
    for (int level = 0; level < 21; ++level) request->add_rows(1);
  }
  messages.push_back(std::move(paths));
  auto permutation = std::make_unique<v1::RoutePermutationRequest>();
  for (int i = 0; i < 100'000; ++i) permutation->add_inputs(i % 100);
  messages.push_back(std::move(permutation));
  for (const auto& message : messages) {
    size_t size = 0;
    const grpc::ByteBuffer bytes = Serialize(*message);
    ASSERT_TRUE(ParsedSize(bytes, *message->GetDescriptor(), &size).ok());
    std::unique_ptr<google::protobuf::Message> parsed(message->New());
    ASSERT_TRUE(Parse(bytes, parsed.get()).ok());
    EXPECT_EQ(parsed->SerializeAsString(), message->SerializeAsString());
    EXPECT_GE(2 * size, parsed->SpaceUsedLong()) << message->GetDescriptor()->name();
    EXPECT_LE(size, 3 * parsed->SpaceUsedLong()) << message->GetDescriptor()->name();
  }
}

std::string Repeated(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// The parser keeps fields that it does not know, and fields of another wire type than their own.
TEST(ParsedSize, CountsWhatTheParserKeepsOfUnknownFields) {
  struct Kept {
    std::string what, text;
  };
  const std::vector<Kept> all{
      {"unknown number", Repeated(10'000, std::string("\xc0\x3e\x01", 3))},
      {"unknown 32 bits", Repeated(10'000, std::string("\xc5\x3e\x01\x02\x03\x04", 6))},
      {"unknown string", Repeated(10'000, std::string("\xc2\x3e\x00", 3))},
      {"input as a string", Repeated(10'000, std::string("\x0a\x00", 2))},
      {"input as 64 bits",
       Repeated(10'000, std::string("\x09\x01\x02\x03\x04\x05\x06\x07\x08", 9))},
      {"key as a number", Repeated(10'000, std::string("\x20\x01", 2))},
      {"avoid as a number", Repeated(10'000, std::string("\x30\x01", 2))},
      {"a field in each message", Repeated(10'000, std::string("\x32\x03\xc0\x3e\x01", 5))},
      // Lists of numbers are legal both ways.
      {"rows one by one", Repeated(10'000, std::string("\x18\x01", 2))},
      {"rows packed", std::string("\x1a\x90\x4e", 3) + std::string(10'000, '\x01')},
  };
  for (const Kept& kept : all) {
    size_t size = 0;
    const absl::Status status =
        ParsedSize(BufferOf(kept.text), *v1::SetUpRequest::descriptor(), &size);
    ASSERT_TRUE(status.ok()) << kept.what << ": " << status;
    v1::SetUpRequest parsed;
    ASSERT_TRUE(parsed.ParseFromString(kept.text)) << kept.what;
    EXPECT_GE(2 * size, parsed.SpaceUsedLong()) << kept.what;
    EXPECT_LE(size, 3 * parsed.SpaceUsedLong()) << kept.what;
  }
}

TEST(ParsedSize, GroupsAreRefusedWhereverTheyAre) {
  const std::string group("\xc3\x3e\x0b\x0c\xc4\x3e", 6);  // 1000 { 1 {} }
  for (const std::string& text : {group, std::string("\x0a\x06", 2) + group, std::string("\x0c")}) {
    size_t size = 0;
    const absl::Status status =
        ParsedSize(BufferOf(text), *v1::SetUpBatchRequest::descriptor(), &size);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("is a group"));
  }
}

TEST(Parse, UnknownFieldsAreKeptNowhere) {
  const std::string unknown = Repeated(1'000, std::string("\xc0\x3e\x01", 3));
  std::string inner = std::string("\x08\x07", 2) + unknown;  // input: 7
  const std::string link = std::string("\x32\xba\x17", 3) + unknown + std::string("\x08\x05", 2);
  inner += link;  // avoid { row or stage: 5 }
  std::string text = unknown + "\x0a";
  for (size_t length = inner.size(); length != 0; length >>= 7) {
    text.push_back(static_cast<char>((length & 127) | (length > 127 ? 128 : 0)));
  }
  text += inner;
  v1::SetUpBatchRequest batch;
  ASSERT_TRUE(Parse(BufferOf(text), &batch).ok());
  ASSERT_EQ(batch.requests_size(), 1);
  EXPECT_EQ(batch.requests(0).input(), 7u);
  ASSERT_EQ(batch.requests(0).avoid_size(), 1);
  v1::SetUpBatchRequest clean;
  clean.add_requests()->set_input(7);
  *clean.mutable_requests(0)->add_avoid() = batch.requests(0).avoid(0);
  EXPECT_EQ(batch.SerializeAsString(), clean.SerializeAsString());
  EXPECT_EQ(batch.ByteSizeLong(), 2u + 2 + 2 + 2);
  // The lists are gone too. What is left of each is less than a hundred bytes.
  EXPECT_LT(batch.SpaceUsedLong(), clean.SpaceUsedLong() + 300);
}

TEST(ParseShort, ALongMessageIsRefusedUnread) {
  v1::WatchRequest watch;
  EXPECT_TRUE(ParseShort(BufferOf(Repeated(kLongestShort / 2, "\x08\x01")), &watch).ok());
  const absl::Status status = ParseShort(BufferOf(std::string(kLongestShort + 1, 'x')), &watch);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("at most 4096 are allowed"));
}

TEST(ParsedSize, BytesThatAreNoMessageAreToldAsSuch) {
  size_t size = 0;
  v1::SetUpBatchRequest batch;
  const google::protobuf::Descriptor& type = *v1::SetUpBatchRequest::descriptor();
  for (const std::string& text :
       {std::string("\x0a\xff\xff\xff\xff\x0f", 6), std::string("\x0a\x05\x08", 3),
        std::string("\x00", 1), std::string("\x0f\x00", 2)}) {
    EXPECT_EQ(Parse(BufferOf(text), &batch).code(), absl::StatusCode::kInvalidArgument);
  }
  const absl::Status status = ParsedSize(BufferOf("\x0a\xff\xff\xff\xff\x0f"), type, &size);
  EXPECT_THAT(std::string(status.message()), HasSubstr("bfly.v1.SetUpBatchRequest"));
  // A call without a message has no bytes, which is not the same as a message of default values.
  EXPECT_EQ(Parse(grpc::ByteBuffer(), &batch).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParsedSize(grpc::ByteBuffer(), type, &size).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Parse(BufferOf(""), &batch).ok());
}

// `depth` batches and operations, each inside the one before.
grpc::ByteBuffer Nested(int depth) {
  std::string deep;
  for (int i = 0; i < depth; ++i) {
    std::string outer = i % 2 == 0 ? "\x0a" : "\x22";
    for (size_t length = deep.size(); outer.size() == 1 || length != 0; length >>= 7) {
      outer.push_back(static_cast<char>((length & 127) | (length > 127 ? 128 : 0)));
      if (length <= 127) break;
    }
    deep = outer + deep;
  }
  return BufferOf(deep);
}

TEST(ParsedSize, MessagesInMessagesWithoutEndAreRefused) {
  size_t size = 0;
  v1::CircuitOperation operation;
  const google::protobuf::Descriptor& type = *v1::CircuitOperation::descriptor();
  EXPECT_TRUE(ParsedSize(Nested(40), type, &size).ok());
  EXPECT_TRUE(Parse(Nested(40), &operation).ok());
  EXPECT_FALSE(ParsedSize(Nested(200), type, &size).ok());
  EXPECT_FALSE(Parse(Nested(200), &operation).ok());
  EXPECT_FALSE(ParsedSize(Nested(10'000), type, &size).ok());
}

}  // namespace
}  // namespace bfly::control
