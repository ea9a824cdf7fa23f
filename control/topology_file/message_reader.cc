// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/message_reader.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "control/topology_file/schema.h"
#include "control/topology_file/yaml_number.h"

namespace bfly::control {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string Join(const std::string& path, absl::string_view key) {
  return path.empty() ? std::string(key) : absl::StrCat(path, ".", key);
}

// A number without quotes in decimal digits, and any other text as it stands.
std::string NumberText(const YamlNode& node) {
  return node.quoted ? node.text : WholeNumberOf(node.text).value_or(node.text);
}

// The words of YAML 1.2 for a truth value, without quotes, or "true" and "false" with them.
std::optional<bool> TruthOf(const YamlNode& node) {
  const absl::string_view text = node.text;
  if (text == "true" || (!node.quoted && (text == "True" || text == "TRUE"))) return true;
  if (text == "false" || (!node.quoted && (text == "False" || text == "FALSE"))) return false;
  return std::nullopt;
}

}  // namespace

bool MessageReader::Read(absl::string_view text, absl::string_view what, absl::string_view minimum,
                         Message* message) {
  const YamlTree tree(text);
  if (tree.failed()) {
    Complain(tree.error().place, "", "", tree.error().message);
    return false;
  }
  if (tree.root() == nullptr || tree.root()->type == YamlNode::Type::kNull) {
    Complain({}, "", "", absl::StrCat("is empty; ", what, " has at least ", minimum));
    return false;
  }
  ReadMessage(*tree.root(), message, "");
  if (too_long()) {
    const bool many = values_ > kMaxValues;
    diagnostics_.clear();
    Complain(
        {}, "", "",
        absl::StrCat("has more ", many ? "values" : "text", " than ", what,
                     " may have, aliases written out (allowed: ",
                     many ? absl::StrCat(kMaxValues) : absl::StrCat(kMaxTextBytes, " bytes"), ")"));
    return false;
  }
  return true;
}

void MessageReader::Sort() {
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.line < b.line; });
}

Place MessageReader::PlaceOf(std::string field) const {
  while (true) {
    if (const auto found = places_.find(field); found != places_.end()) return found->second;
    const size_t cut = field.find_last_of(".[");
    if (cut == std::string::npos) break;
    field.resize(cut);
  }
  return Place{.line = 1, .column = 0};
}

void MessageReader::ReadMessage(const YamlNode& node, Message* message, const std::string& path) {
  const Descriptor& type = *message->GetDescriptor();
  if (node.type != YamlNode::Type::kMap) {
    return Complain(node.place, path, Describe(node),
                    absl::StrCat(Describe(node), " stands where a map of keys should"));
  }
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  std::map<std::string, Place> seen;
  for (const YamlNode::Entry& entry : node.entries) {
    if (too_long()) return;
    const std::string at = Join(path, Quotable(entry.key));
    const FieldDescriptor* field = type.FindFieldByName(entry.key);
    if (field == nullptr) {
      ++values_;
      const auto meant = Nearest(entry.key, names);
      Complain(
          entry.place, at, "",
          absl::StrCat("unknown key", meant ? absl::StrCat("; did you mean ", *meant, "?") : "",
                       " (allowed: ", absl::StrJoin(names, ", "), ")"));
      continue;
    }
    const auto [first, fresh] = seen.emplace(entry.key, entry.place);
    if (!fresh) {
      ++values_;
      Complain(entry.place, at, "",
               absl::StrCat("is given a second time; the first is on line ", first->second.line));
      continue;
    }
    places_.emplace(at, entry.place);
    if (entry.value->type == YamlNode::Type::kNull) {
      if (RuleOf(*field).required()) Complain(entry.place, at, "", MissingMessage(*field));
      continue;
    }
    ReadField(*entry.value, *field, message, at);
  }
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (RuleOf(field).required() && !seen.contains(field.name())) {
      Complain(path.empty() ? Place{.line = 1} : node.place, Join(path, field.name()), "",
               MissingMessage(field));
    }
  }
}

void MessageReader::ReadField(const YamlNode& node, const FieldDescriptor& field, Message* message,
                              const std::string& path) {
  if (!field.is_repeated()) return ReadElement(node, field, message, path);
  if (node.type == YamlNode::Type::kScalar && RuleOf(field).one_or_list()) {
    return ReadElement(node, field, message, path);
  }
  if (node.type != YamlNode::Type::kList) {
    return Complain(node.place, path, Describe(node),
                    absl::StrCat(Describe(node), " stands where a list should"));
  }
  if (node.items.empty() && RuleOf(field).required()) {
    Complain(node.place, path, "", MissingMessage(field));
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string at = absl::StrCat(path, "[", i, "]");
    if (too_long()) return;
    places_.emplace(at, node.items[i]->place);
    ReadElement(*node.items[i], field, message, at);
  }
}

// Reads "3..6" as 3, 4, 5, 6 where a list is allowed. Returns false if the text is not such a
// range.
bool MessageReader::ReadRange(const YamlNode& node, const FieldDescriptor& field, Message* message,
                              const std::string& path) {
  const std::vector<absl::string_view> ends = absl::StrSplit(node.text, "..");
  uint64_t first = 0, last = 0;
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &first) || !absl::SimpleAtoi(ends[1], &last)) {
    return false;
  }
  const std::string value = Quotable(node.text);
  if (first > last || last - first >= kMaxValues) {
    Complain(node.place, path, value,
             absl::StrCat(value, " is not a range (allowed: up to ", kMaxValues,
                          " values, the smaller end first)"));
    return true;
  }
  for (const uint64_t end : {first, last}) {
    if (const auto wrong = Breaks(field, end)) {
      Complain(node.place, path, value, *wrong);
      return true;
    }
  }
  values_ += static_cast<int>(last - first);
  const Reflection& reflection = *message->GetReflection();
  for (uint64_t i = 0; i <= last - first && !too_long(); ++i) {
    const uint64_t number = first + i;  // `last` may be the largest number there is
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
      reflection.AddUInt64(message, &field, number);
    } else {
      reflection.AddUInt32(message, &field, static_cast<uint32_t>(number));
    }
  }
  return true;
}

void MessageReader::ReadElement(const YamlNode& node, const FieldDescriptor& field,
                                Message* message, const std::string& path) {
  const Reflection& reflection = *message->GetReflection();
  ++values_;
  text_bytes_ += node.text.size();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return ReadMessage(node,
                       field.is_repeated() ? reflection.AddMessage(message, &field)
                                           : reflection.MutableMessage(message, &field),
                       path);
  }
  if (node.type != YamlNode::Type::kScalar) {
    const std::string allowed = Allowed(field);
    return Complain(node.place, path, Describe(node),
                    absl::StrCat(Describe(node), " stands where one value should",
                                 allowed.empty() ? "" : absl::StrCat(" (allowed: ", allowed, ")")));
  }
  ReadScalar(node, field, message, path);
}

void MessageReader::ReadScalar(const YamlNode& node, const FieldDescriptor& field, Message* message,
                               const std::string& path) {
  const Reflection& reflection = *message->GetReflection();
  const std::string value = Quotable(node.text);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = RuleOf(field).ranges() ? NumberText(node) : node.text;
      if (const auto wrong = Breaks(field, text)) Complain(node.place, path, value, *wrong);
      return field.is_repeated() ? reflection.AddString(message, &field, text)
                                 : reflection.SetString(message, &field, text);
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const std::optional<int> number = EnumNumber(*field.enum_type(), node.text);
      if (number) {
        return field.is_repeated() ? reflection.AddEnumValue(message, &field, *number)
                                   : reflection.SetEnumValue(message, &field, *number);
      }
      const auto meant = Nearest(node.text, EnumNames(*field.enum_type()));
      return Complain(node.place, path, value,
                      absl::StrCat("\"", value, "\" is unknown",
                                   meant ? absl::StrCat("; did you mean ", *meant, "?") : "",
                                   " (allowed: ", Allowed(field), ")"));
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      const std::optional<bool> truth = TruthOf(node);
      if (!truth) {
        return Complain(node.place, path, value,
                        absl::StrCat("\"", value, "\" is unknown (allowed: true or false)"));
      }
      return field.is_repeated() ? reflection.AddBool(message, &field, *truth)
                                 : reflection.SetBool(message, &field, *truth);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return ReadReal(node, field, message, path);
    default:
      return ReadNumber(node, field, message, path);
  }
}

void MessageReader::ReadNumber(const YamlNode& node, const FieldDescriptor& field, Message* message,
                               const std::string& path) {
  if (field.is_repeated() && RuleOf(field).one_or_list() && ReadRange(node, field, message, path)) {
    return;
  }
  const Reflection& reflection = *message->GetReflection();
  const std::string value = Quotable(node.text);
  const std::string text = NumberText(node);
  absl::string_view digits = text;
  uint64_t number = 0;
  const bool understood = absl::StartsWith(digits, "0x") ? absl::SimpleHexAtoi(digits, &number)
                                                         : absl::SimpleAtoi(digits, &number);
  if (!understood) {
    absl::ConsumePrefix(&digits, "-");
    const bool all_digits =
        !digits.empty() && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
    return Complain(node.place, path, value,
                    all_digits
                        ? absl::StrCat(value, " is out of range (allowed: ", Allowed(field), ")")
                        : absl::StrCat("\"", value,
                                       "\" is not a whole number (allowed: ", Allowed(field), ")"));
  }
  if (const auto wrong = Breaks(field, number)) Complain(node.place, path, value, *wrong);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
    return field.is_repeated() ? reflection.AddUInt64(message, &field, number)
                               : reflection.SetUInt64(message, &field, number);
  }
  if (number > UINT32_MAX) return;
  const auto narrow = static_cast<uint32_t>(number);
  field.is_repeated() ? reflection.AddUInt32(message, &field, narrow)
                      : reflection.SetUInt32(message, &field, narrow);
}

void MessageReader::ReadReal(const YamlNode& node, const FieldDescriptor& field, Message* message,
                             const std::string& path) {
  const Reflection& reflection = *message->GetReflection();
  const std::string value = Quotable(node.text);
  double number = 0;
  if (!absl::SimpleAtod(NumberText(node), &number) || !std::isfinite(number)) {
    return Complain(
        node.place, path, value,
        absl::StrCat("\"", value, "\" is not a number (allowed: ", Allowed(field), ")"));
  }
  if (const auto wrong = Breaks(field, number)) Complain(node.place, path, value, *wrong);
  field.is_repeated() ? reflection.AddDouble(message, &field, number)
                      : reflection.SetDouble(message, &field, number);
}

}  // namespace bfly::control
