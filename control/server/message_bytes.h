// SPDX-License-Identifier: Apache-2.0
// Messages as the bytes that came or will be sent. gRPC would parse a message before a handler sees
// it, and two bytes of a message can take a hundred bytes of memory. Here the size is checked
// first.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

#include "absl/status/status.h"

namespace bfly::control {

// Estimates the memory that a message of this type takes once it is parsed, without allocating any
// for its contents. Fields that the type does not have count too, because the parser keeps them.
// INVALID_ARGUMENT: the bytes are not a message of this type, or have a group.
absl::Status ParsedSize(const grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type,
                        size_t* size);

// Fields that the type does not have are dropped. INVALID_ARGUMENT: the bytes are not a message of
// this type.
absl::Status Parse(const grpc::ByteBuffer& bytes, google::protobuf::Message* message);

// RESOURCE_EXHAUSTED: there are more than `longest` bytes.
absl::Status CheckLength(const grpc::ByteBuffer& bytes, size_t longest);

// The most bytes of a request that has a few numbers.
inline constexpr size_t kLongestShort = 4 << 10;
// Parses a message of at most kLongestShort bytes. RESOURCE_EXHAUSTED: the message is longer.
absl::Status ParseShort(const grpc::ByteBuffer& bytes, google::protobuf::Message* message);

grpc::ByteBuffer Serialize(const google::protobuf::Message& message);

}  // namespace bfly::control
