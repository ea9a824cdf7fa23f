// SPDX-License-Identifier: Apache-2.0
#include "control/json/message_json.h"

#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"

namespace bfly::control {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::ordered_json;

ordered_json Enum(const EnumDescriptor& type, int number) {
  const auto* value = type.FindValueByNumber(number);
  if (value == nullptr) return number;  // of a newer schema than this program has
  return absl::AsciiStrToLower(value->name());
}

ordered_json Floating(double number) {
  return std::isfinite(number) ? ordered_json(number) : ordered_json(nullptr);
}

ordered_json Text(const FieldDescriptor& field, const std::string& value) {
  return field.type() == FieldDescriptor::TYPE_BYTES ? absl::Base64Escape(value) : value;
}

ordered_json Singular(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.GetUInt64(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Floating(reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Floating(reflection.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return Enum(*field.enum_type(), reflection.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return Text(field, reflection.GetString(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(reflection.GetMessage(message, &field));
  }
  return nullptr;
}

ordered_json Element(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetRepeatedInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetRepeatedInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetRepeatedUInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.GetRepeatedUInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Floating(reflection.GetRepeatedDouble(message, &field, index));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Floating(reflection.GetRepeatedFloat(message, &field, index));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetRepeatedBool(message, &field, index);
    case FieldDescriptor::CPPTYPE_ENUM:
      return Enum(*field.enum_type(), reflection.GetRepeatedEnumValue(message, &field, index));
    case FieldDescriptor::CPPTYPE_STRING:
      return Text(field, reflection.GetRepeatedString(message, &field, index));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(reflection.GetRepeatedMessage(message, &field, index));
  }
  return nullptr;
}

ordered_json Map(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  ordered_json object = ordered_json::object();
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    const ordered_json key = Singular(entry, *entry.GetDescriptor()->map_key());
    object[key.is_string() ? key.get<std::string>() : key.dump()] =
        Singular(entry, *entry.GetDescriptor()->map_value());
  }
  return object;
}

}  // namespace

ordered_json ToJson(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  ordered_json object = ordered_json::object();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_map()) {
      object[field.name()] = Map(message, field);
    } else if (field.is_repeated()) {
      ordered_json& array = object[field.name()] = ordered_json::array();
      const int size = reflection.FieldSize(message, &field);
      for (int k = 0; k < size; ++k) array.push_back(Element(message, field, k));
    } else if (!field.has_presence() || reflection.HasField(message, &field)) {
      object[field.name()] = Singular(message, field);
    }
  }
  return object;
}

namespace {

void BeginLine(int depth, std::string& out) {
  out.push_back('\n');
  out.append(static_cast<size_t>(2 * depth), ' ');
}

// Appends a value and indents the lines of a value that spans several.
void AppendTree(const ordered_json& value, int depth, std::string& out) {
  for (const char c : value.dump(2)) {
    if (c == '\n') {
      BeginLine(depth, out);
    } else {
      out.push_back(c);
    }
  }
}

void AppendSingular(const Message& message, const FieldDescriptor& field, int depth,
                    std::string& out) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrAppend(&out, reflection.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrAppend(&out, reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return AppendJson(reflection.GetMessage(message, &field), depth, out);
    default:
      return AppendTree(Singular(message, field), depth, out);
  }
}

void AppendRepeated(const Message& message, const FieldDescriptor& field, int depth,
                    std::string& out) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, &field);
  out.push_back('[');
  for (int k = 0; k < size; ++k) {
    if (k > 0) out.push_back(',');
    BeginLine(depth + 1, out);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      AppendJson(reflection.GetRepeatedMessage(message, &field, k), depth + 1, out);
    } else {
      AppendTree(Element(message, field, k), depth + 1, out);
    }
  }
  if (size > 0) BeginLine(depth, out);
  out.push_back(']');
}

}  // namespace

void AppendJson(const Message& message, int depth, std::string& out) {
  const Reflection& reflection = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  bool any = false;
  out.push_back('{');
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const bool absent =
        !field.is_repeated() && field.has_presence() && !reflection.HasField(message, &field);
    if (absent) continue;
    if (any) out.push_back(',');
    any = true;
    BeginLine(depth + 1, out);
    absl::StrAppend(&out, "\"", field.name(), "\": ");
    if (field.is_map()) {
      AppendTree(Map(message, field), depth + 1, out);
    } else if (field.is_repeated()) {
      AppendRepeated(message, field, depth + 1, out);
    } else {
      AppendSingular(message, field, depth + 1, out);
    }
  }
  if (any) BeginLine(depth, out);
  out.push_back('}');
}

}  // namespace bfly::control
