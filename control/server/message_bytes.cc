// SPDX-License-Identifier: Apache-2.0
#include "control/server/message_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/unknown_field_set.h>
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
// The parser keeps fields that it does not know in a list. A message that has one takes memory for
// its list; each field has an entry, and a field of bytes has a string besides.
constexpr size_t kUnknownList = 64;
constexpr size_t kUnknownField = 32;
constexpr size_t kUnknownString = 48;

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

absl::Status NotA(const Descriptor& type) {
  return absl::InvalidArgumentError(absl::StrCat("the bytes that came are not a message of type ",
                                                 std::string(type.full_name())));
}

absl::Status HasGroup(const Descriptor& type, int number) {
  return absl::InvalidArgumentError(
      absl::StrCat("field ", number, " of a message of type ", std::string(type.full_name()),
                   " is a group, and messages of bfly have no groups; leave it out"));
}

// Whether the parser takes a field of this wire type for `field`. It takes lists of numbers both
// ways: packed, and one by one.
bool IsOfField(const FieldDescriptor& field, WireFormatLite::WireType wire) {
  if (field.is_packable() && wire == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) return true;
  return wire ==
         WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(field.type()));
}

// Adds the memory that the contents of the message in the rest of the input take, without the
// message object itself. An error says why the bytes are refused.
absl::Status AddMessage(CodedInputStream& in, const Descriptor& type, int depth, size_t* size) {
  if (depth > kMaxDepth) return NotA(type);
  bool has_unknown = false;
  while (const uint32_t tag = in.ReadTag()) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const WireFormatLite::WireType wire = WireFormatLite::GetTagWireType(tag);
    if (number == 0) return NotA(type);
    if (wire == WireFormatLite::WIRETYPE_START_GROUP ||
        wire == WireFormatLite::WIRETYPE_END_GROUP) {
      return HasGroup(type, number);
    }
    const FieldDescriptor* field = type.FindFieldByNumber(number);
    // The parser keeps a field of another wire type than its own as it keeps an unknown one.
    if (field != nullptr && !IsOfField(*field, wire)) field = nullptr;
    if (field == nullptr) {
      *size += has_unknown ? kUnknownField : kUnknownField + kUnknownList;
      has_unknown = true;
    }
    if (wire != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&in, tag)) return NotA(type);
      if (field != nullptr && field->is_repeated()) *size += ElementSize(*field);
      continue;
    }
    uint32_t length = 0;
    if (!in.ReadVarint32(&length) || length > std::numeric_limits<int>::max()) return NotA(type);
    if (field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      *size += EmptySize(*field->message_type()) + kOverhead;
      const auto limit = in.PushLimit(static_cast<int>(length));
      absl::Status status = AddMessage(in, *field->message_type(), depth + 1, size);
      if (!status.ok()) return status;
      if (in.BytesUntilLimit() > 0) return NotA(type);
      in.PopLimit(limit);
      continue;
    }
    if (field == nullptr) {
      *size += length + kUnknownString;
    } else {
      *size += field->is_packable() ? MostPacked(*field, length) : length + kOverhead;
    }
    if (!in.Skip(static_cast<int>(length))) return NotA(type);
  }
  if (in.ConsumedEntireMessage() || in.BytesUntilLimit() == 0) return absl::OkStatus();
  return NotA(type);
}

// Frees what the parser kept of fields that it does not know, in the message and in all messages
// inside it. Message::DiscardUnknownFields would keep the memory of the lists, and would give each
// message without a list an empty one. No message of bfly has a map.
void DropUnknownFields(google::protobuf::Message* message) {
  const google::protobuf::Reflection& fields = *message->GetReflection();
  if (!fields.GetUnknownFields(*message).empty()) {
    google::protobuf::UnknownFieldSet dropped;
    fields.MutableUnknownFields(message)->Swap(&dropped);
  }
  const Descriptor& type = *message->GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->is_repeated()) {
      const int count = fields.FieldSize(*message, field);
      for (int k = 0; k < count; ++k) {
        DropUnknownFields(fields.MutableRepeatedMessage(message, field, k));
      }
    } else if (fields.HasField(*message, field)) {
      DropUnknownFields(fields.MutableMessage(message, field));
    }
  }
}

// gRPC passes an empty buffer for a call that ended before its message came. Such a buffer would
// parse as a message of default values.
absl::Status CheckThere(const grpc::ByteBuffer& bytes, const Descriptor& type) {
  if (bytes.Valid()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the call has no message; send a ", std::string(type.full_name())));
}

}  // namespace

absl::Status ParsedSize(const grpc::ByteBuffer& bytes, const Descriptor& type, size_t* size) {
  if (absl::Status status = CheckThere(bytes, type); !status.ok()) return status;
  grpc::ByteBuffer copy(bytes);  // copies references, not bytes
  grpc::ProtoBufferReader reader(&copy);
  CodedInputStream in(&reader);
  *size = EmptySize(type);
  return AddMessage(in, type, 0, size);
}

absl::Status Parse(const grpc::ByteBuffer& bytes, google::protobuf::Message* message) {
  absl::Status status = CheckThere(bytes, *message->GetDescriptor());
  if (!status.ok()) return status;
  grpc::ByteBuffer copy(bytes);  // copies references, not bytes
  grpc::ProtoBufferReader reader(&copy);
  if (!message->ParseFromZeroCopyStream(&reader)) return NotA(*message->GetDescriptor());
  DropUnknownFields(message);
  return absl::OkStatus();
}

absl::Status CheckLength(const grpc::ByteBuffer& bytes, size_t longest) {
  if (bytes.Length() <= longest) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the message has ", bytes.Length(),
                                                   " bytes, at most ", longest, " are allowed"));
}

absl::Status ParseShort(const grpc::ByteBuffer& bytes, google::protobuf::Message* message) {
  absl::Status status = CheckLength(bytes, kLongestShort);
  return status.ok() ? Parse(bytes, message) : status;
}

grpc::ByteBuffer Serialize(const google::protobuf::Message& message) {
  const size_t size = message.ByteSizeLong();
  grpc_slice slice = grpc_slice_malloc(size);
  message.SerializeWithCachedSizesToArray(GRPC_SLICE_START_PTR(slice));
  const grpc::Slice owned(slice, grpc::Slice::STEAL_REF);
  return grpc::ByteBuffer(&owned, 1);
}

}  // namespace bfly::control
