// SPDX-License-Identifier: Apache-2.0
#include "control/server/message_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// protobuf's own parser follows nested messages to the same depth.
constexpr int kMaxDepth = 100;
// A string, or a message in a list, takes this many bytes besides its contents.
constexpr size_t kOverhead = 32;

size_t EmptySize(const Descriptor& type) {
  return google::protobuf::MessageFactory::generated_factory()
      ->GetPrototype(&type)
      ->SpaceUsedLong();
}

size_t ElementSize(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return 8;
    default:
      return 4;
  }
}

// The most memory that packed numbers take once they are parsed; each has at least one byte.
size_t MostPacked(const FieldDescriptor& field, size_t length) {
  switch (
      WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(field.type()))) {
    case WireFormatLite::WIRETYPE_FIXED32:
    case WireFormatLite::WIRETYPE_FIXED64:
      return length;
    default:
      return length * ElementSize(field);
  }
}

// Adds the memory that the contents of the message in the rest of the input take, without the
// message object itself. False: the bytes are not a message of this type.
bool AddMessage(CodedInputStream& in, const Descriptor& type, int depth, size_t* size) {
  if (depth > kMaxDepth) return false;
  while (const uint32_t tag = in.ReadTag()) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const FieldDescriptor* field = type.FindFieldByNumber(number);
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&in, tag)) return false;
      // Unknown fields are kept too.
      *size += field == nullptr ? kOverhead : field->is_repeated() ? ElementSize(*field) : 0;
      continue;
    }
    uint32_t length = 0;
    if (!in.ReadVarint32(&length) || length > std::numeric_limits<int>::max()) return false;
    if (field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      *size += EmptySize(*field->message_type()) + kOverhead;
      const auto limit = in.PushLimit(static_cast<int>(length));
      if (!AddMessage(in, *field->message_type(), depth + 1, size)) return false;
      if (in.BytesUntilLimit() > 0) return false;
      in.PopLimit(limit);
      continue;
    }
    const bool packed = field != nullptr && field->is_packable();
    *size += packed ? MostPacked(*field, length) : length + kOverhead;
    if (!in.Skip(static_cast<int>(length))) return false;
  }
  return in.ConsumedEntireMessage() || in.BytesUntilLimit() == 0;
}

// gRPC passes an empty buffer for a call that ended before its message came. Such a buffer would
// parse as a message of default values.
absl::Status CheckThere(const grpc::ByteBuffer& bytes, const Descriptor& type) {
  if (bytes.Valid()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the call has no message; send a ", std::string(type.full_name())));
}

absl::Status NotA(const Descriptor& type) {
  return absl::InvalidArgumentError(absl::StrCat("the bytes that came are not a message of type ",
                                                 std::string(type.full_name())));
}

}  // namespace

absl::Status ParsedSize(const grpc::ByteBuffer& bytes, const Descriptor& type, size_t* size) {
  if (absl::Status status = CheckThere(bytes, type); !status.ok()) return status;
  grpc::ByteBuffer copy(bytes);  // copies references, not bytes
  grpc::ProtoBufferReader reader(&copy);
  CodedInputStream in(&reader);
  *size = EmptySize(type);
  return AddMessage(in, type, 0, size) ? absl::OkStatus() : NotA(type);
}

absl::Status Parse(const grpc::ByteBuffer& bytes, google::protobuf::Message* message) {
  absl::Status status = CheckThere(bytes, *message->GetDescriptor());
  if (!status.ok()) return status;
  grpc::ByteBuffer copy(bytes);  // copies references, not bytes
  grpc::ProtoBufferReader reader(&copy);
  if (message->ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  return NotA(*message->GetDescriptor());
}

grpc::ByteBuffer Serialize(const google::protobuf::Message& message) {
  const size_t size = message.ByteSizeLong();
  grpc_slice slice = grpc_slice_malloc(size);
  message.SerializeWithCachedSizesToArray(GRPC_SLICE_START_PTR(slice));
  const grpc::Slice owned(slice, grpc::Slice::STEAL_REF);
  return grpc::ByteBuffer(&owned, 1);
}

}  // namespace bfly::control
