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
