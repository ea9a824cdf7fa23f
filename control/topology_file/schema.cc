// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/schema.h"

#include <algorithm>
#include <bit>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/topology_file/quantity.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The field's `max` or, if it has none, the largest value of the type.
uint64_t Largest(const FieldDescriptor& field) {
  if (const v1::FieldRule& rule = RuleOf(field); rule.max() != 0) return rule.max();
  return field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64 ? UINT64_MAX : UINT32_MAX;
}

size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string ElementPath(const std::string& path, int index) {
  return absl::StrCat(path, "[", index, "]");
}

uint64_t NumberAt(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
    return field.is_repeated() ? reflection.GetRepeatedUInt64(message, &field, index)
                               : reflection.GetUInt64(message, &field);
  }
  return field.is_repeated() ? reflection.GetRepeatedUInt32(message, &field, index)
                             : reflection.GetUInt32(message, &field);
}

// Checks the value at `index` of a repeated field, or the value of a singular field, for which
// `index` is not used.
void CheckValue(const Message& message, const FieldDescriptor& field, int index,
                const std::string& path, std::vector<Violation>* violations) {
  const Reflection& reflection = *message.GetReflection();
  std::optional<std::string> wrong;
  std::string value;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      CheckRules(field.is_repeated() ? reflection.GetRepeatedMessage(message, &field, index)
                                     : reflection.GetMessage(message, &field),
                 path, violations);
      return;
    case FieldDescriptor::CPPTYPE_STRING:
      value = field.is_repeated() ? reflection.GetRepeatedString(message, &field, index)
                                  : reflection.GetString(message, &field);
      wrong = Breaks(field, value);
      break;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int number = field.is_repeated()
                             ? reflection.GetRepeatedEnumValue(message, &field, index)
                             : reflection.GetEnumValue(message, &field);
      value = absl::StrCat(number);
      wrong = BreaksEnum(field, number);
      break;
    }
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64: {
      const uint64_t number = NumberAt(message, field, index);
      value = absl::StrCat(number);
      wrong = Breaks(field, number);
      break;
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double number = field.is_repeated()
                                ? reflection.GetRepeatedDouble(message, &field, index)
                                : reflection.GetDouble(message, &field);
      value = absl::StrCat(number);
      wrong = Breaks(field, number);
      break;
    }
    default:
      return;
  }
  if (wrong) violations->push_back({path, value, *wrong});
}

void AddDefault(Message* message, const FieldDescriptor& field, const std::string& text) {
  const Reflection& reflection = *message->GetReflection();
  uint64_t number = 0;
  double real = 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.AddString(message, &field, text);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.AddEnumValue(message, &field,
                                     EnumNumber(*field.enum_type(), text).value_or(0));
    case FieldDescriptor::CPPTYPE_UINT32:
      if (absl::SimpleAtoi(text, &number)) {
        reflection.AddUInt32(message, &field, static_cast<uint32_t>(number));
      }
      return;
    case FieldDescriptor::CPPTYPE_UINT64:
      if (absl::SimpleAtoi(text, &number)) reflection.AddUInt64(message, &field, number);
      return;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      if (absl::SimpleAtod(text, &real)) reflection.AddDouble(message, &field, real);
      return;
    default:
      return;
  }
}

void SetDefault(Message* message, const FieldDescriptor& field, const std::string& text) {
  const Reflection& reflection = *message->GetReflection();
  uint64_t number = 0;
  double real = 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      reflection.SetString(message, &field, text);
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      reflection.SetEnumValue(message, &field, EnumNumber(*field.enum_type(), text).value_or(0));
      return;
    case FieldDescriptor::CPPTYPE_BOOL:
      reflection.SetBool(message, &field, text == "true");
      return;
    case FieldDescriptor::CPPTYPE_UINT32:
      if (absl::SimpleAtoi(text, &number)) {
        reflection.SetUInt32(message, &field, static_cast<uint32_t>(number));
      }
      return;
    case FieldDescriptor::CPPTYPE_UINT64:
      if (absl::SimpleAtoi(text, &number)) reflection.SetUInt64(message, &field, number);
      return;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      if (absl::SimpleAtod(text, &real)) reflection.SetDouble(message, &field, real);
      return;
    default:
      return;
  }
}

}  // namespace

const v1::FieldRule& RuleOf(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::field_rule);
}

std::string EnumName(const EnumValueDescriptor& value) {
  return absl::AsciiStrToLower(value.name());
}

std::vector<std::string> EnumNames(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) names.push_back(EnumName(*type.value(i)));
  }
  return names;
}

std::optional<int> EnumNumber(const EnumDescriptor& type, absl::string_view name) {
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0 && EnumName(*type.value(i)) == name)
      return type.value(i)->number();
  }
  return std::nullopt;
}

std::string Allowed(const FieldDescriptor& field) {
  const v1::FieldRule& rule = RuleOf(field);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrCat("one of ", absl::StrJoin(EnumNames(*field.enum_type()), ", "));
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_STRING:
      if (rule.quantity() == v1::FieldRule::RATE) return std::string(kRateSyntax);
      if (rule.quantity() == v1::FieldRule::DURATION) return std::string(kDurationSyntax);
      return rule.ranges() ? std::string(kRangesSyntax) : "";
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(rule.power_of_two() ? "powers of two from " : "", rule.min(), " to ",
                          Largest(field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::StrCat(rule.above_min() ? "above " : "", rule.min_real(), " to ",
                          rule.max_real());
    default:
      return "";
  }
}

std::optional<std::string> Breaks(const FieldDescriptor& field, double value) {
  const v1::FieldRule& rule = RuleOf(field);
  const bool high_enough = rule.above_min() ? value > rule.min_real() : value >= rule.min_real();
  if (high_enough && value <= rule.max_real()) return std::nullopt;
  return absl::StrCat(value, " is out of range (allowed: ", Allowed(field), ")");
}

std::optional<std::string> Breaks(const FieldDescriptor& field, uint64_t value) {
  const v1::FieldRule& rule = RuleOf(field);
  std::string wrong;
  if (rule.power_of_two() && !std::has_single_bit(value)) {
    wrong = "is not a power of two";
  } else if (value < static_cast<uint64_t>(rule.min()) || value > Largest(field)) {
    wrong = "is out of range";
  } else {
    return std::nullopt;
  }
  return absl::StrCat(value, " ", wrong, " (allowed: ", Allowed(field), ")");
}

std::optional<std::string> Breaks(const FieldDescriptor& field, absl::string_view value) {
  const v1::FieldRule& rule = RuleOf(field);
  if (value.empty()) {
    if (rule.required()) return MissingMessage(field);
    return std::nullopt;
  }
  if (rule.ranges()) {
    if (const auto ranges = ParseRanges(value); !ranges.ok()) {
      return std::string(ranges.status().message());
    }
  }
  if (rule.quantity() != v1::FieldRule::QUANTITY_UNSPECIFIED) {
    const auto quantity =
        rule.quantity() == v1::FieldRule::RATE ? ParseRate(value) : ParseDuration(value);
    if (!quantity.ok()) return std::string(quantity.status().message());
  }
  return std::nullopt;
}

std::optional<std::string> BreaksEnum(const FieldDescriptor& field, int number) {
  if (number != 0 && field.enum_type()->FindValueByNumber(number) != nullptr) return std::nullopt;
  if (number == 0 && !RuleOf(field).required()) return std::nullopt;
  if (number == 0) return MissingMessage(field);
  return absl::StrCat(number, " is unknown (allowed: ", Allowed(field), ")");
}

std::string MissingMessage(const FieldDescriptor& field) {
  const v1::FieldRule& rule = RuleOf(field);
  std::string hint = Allowed(field);
  if (!rule.example().empty()) {
    absl::StrAppend(&hint, hint.empty() ? "" : "; ", "for example ", rule.example());
  }
  if (hint.empty()) hint = absl::AsciiStrToLower(rule.help().substr(0, 1)) + rule.help().substr(1);
  return absl::StrCat("is missing (", hint, ")");
}

std::optional<std::string> Nearest(absl::string_view word,
                                   const std::vector<std::string>& candidates) {
  constexpr size_t kLongestWord = 64;  // bounds the work for hostile input
  if (word.size() > kLongestWord) return std::nullopt;
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  std::optional<std::string> nearest;
  for (const std::string& candidate : candidates) {
    if (const size_t distance = EditDistance(word, candidate); distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

void FillDefaults(Message* message) {
  const Reflection& reflection = *message->GetReflection();
  const auto& type = *message->GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const v1::FieldRule& rule = RuleOf(field);
    if (field.is_repeated()) {
      if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        if (!rule.default_value().empty() && reflection.FieldSize(*message, &field) == 0) {
          AddDefault(message, field, rule.default_value());
        }
        continue;
      }
      for (int k = 0; k < reflection.FieldSize(*message, &field); ++k) {
        FillDefaults(reflection.MutableRepeatedMessage(message, &field, k));
      }
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (reflection.HasField(*message, &field) || !rule.required()) {
        FillDefaults(reflection.MutableMessage(message, &field));
      }
    } else if (!rule.default_value().empty() && !reflection.HasField(*message, &field)) {
      SetDefault(message, field, rule.default_value());
    }
  }
}

void CheckRules(const Message& message, const std::string& path,
                std::vector<Violation>* violations) {
  const Reflection& reflection = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string at = path.empty() ? field.name() : absl::StrCat(path, ".", field.name());
    const bool required = RuleOf(field).required();
    if (field.is_repeated()) {
      const int size = reflection.FieldSize(message, &field);
      if (size == 0 && required) violations->push_back({at, "", MissingMessage(field)});
      for (int k = 0; k < size; ++k) CheckValue(message, field, k, ElementPath(at, k), violations);
    } else if (!reflection.HasField(message, &field)) {
      if (required) violations->push_back({at, "", MissingMessage(field)});
    } else {
      CheckValue(message, field, 0, at, violations);
    }
  }
}

}  // namespace bfly::control
