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
// for its contents. INVALID_ARGUMENT: the bytes are not a message of this type.
absl::Status ParsedSize(const grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type,
                        size_t* size);

// INVALID_ARGUMENT: the bytes are not a message of this type.
absl::Status Parse(const grpc::ByteBuffer& bytes, google::protobuf::Message* message);

grpc::ByteBuffer Serialize(const google::protobuf::Message& message);

}  // namespace bfly::control
