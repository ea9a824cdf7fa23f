// SPDX-License-Identifier: Apache-2.0
// Writes a JSON Schema of topology files for editors, from the (field_rule) options that the reader
// checks too. It refuses nothing that the reader takes, but for numbers and truth values in quotes.
// What must hold between fields, and how large a rate or a time may be, the reader alone knows.
// Both read YAML 1.2, as editors do. YAML 1.1 has dates, and numbers such as 1_6, where 1.2 has
// text.
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bfly/v1/options.pb.h"
#include "bfly/v1/topology.pb.h"
#include "control/topology_file/schema.h"
#include "google/protobuf/descriptor.h"

namespace bfly::control {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Json = nlohmann::ordered_json;

// JSON Schema knows the regular expressions of ECMAScript. In Python, where validators are written
// too, `$` stands before a line's end as well, and `\s` for more blanks than the reader skips.
constexpr char kEnd[] = "(?![\\s\\S])";
constexpr char kBlanks[] = "[ \\t\\n\\v\\f\\r]*";
// Digits with at most one point among them.
constexpr char kNumber[] = "([0-9]+\\.?[0-9]*|\\.[0-9]+)";

// The whole text is `form`, or empty: an empty text counts as left out.
std::string Whole(const std::string& form) { return absl::StrCat("^(", form, ")?", kEnd); }

std::string Quantity(const std::string& unit) {
  return absl::StrCat(kBlanks, kNumber, kBlanks, unit, kBlanks);
}

// Digits of the numbers up to `most`, with any number of zeros in front.
std::string UpTo(const std::string& most) {
  std::string form = absl::StrCat("[0-9]{1,", most.size() - 1, "}");
  for (size_t i = 0; i < most.size(); ++i) {
    // The first i digits are those of `most`, and the next one is less.
    if (most[i] == '0') continue;
    absl::StrAppend(&form, "|", most.substr(0, i), "[0-",
                    std::string(1, static_cast<char>(most[i] - 1)), "]");
    if (const size_t rest = most.size() - i - 1; rest > 0)
      absl::StrAppend(&form, "[0-9]{", rest, "}");
  }
  return absl::StrCat("0*(", form, "|", most, ")");
}

std::string Ranges() {
  const std::string number = absl::StrCat(kBlanks, UpTo(absl::StrCat(UINT32_MAX)), kBlanks);
  const std::string range = absl::StrCat(number, "(-", number, ")?");
  return Whole(absl::StrCat(range, "(,", range, ")*"));
}

// A value as YAML reads it: a number or a truth value that stands where text should is text.
Json Text(const FieldDescriptor& field) {
  const v1::FieldRule& rule = RuleOf(field);
  if (rule.quantity() == v1::FieldRule::RATE)
    return {{"type", {"string"}}, {"pattern", Whole("none|" + Quantity("[kMG]?bps"))}};
  if (rule.quantity() == v1::FieldRule::DURATION)
    return {{"type", {"string"}}, {"pattern", Whole(Quantity("[num]?s"))}};
  Json text = {{"type", {"string", "number", "boolean"}}};
  if (rule.ranges())
    text = {{"type", {"string", "integer"}},
            {"pattern", Ranges()},
            {"minimum", 0},
            {"maximum", UINT32_MAX}};
  if (rule.required()) text["minLength"] = 1;
  return text;
}

Json Number(const FieldDescriptor& field) {
  const v1::FieldRule& rule = RuleOf(field);
  const uint64_t type_allows =
      field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64 ? UINT64_MAX : UINT32_MAX;
  const uint64_t most = rule.max() != 0 ? static_cast<uint64_t>(rule.max()) : type_allows;
  if (!rule.power_of_two())
    return {{"type", {"integer"}}, {"minimum", rule.min()}, {"maximum", most}};
  Json powers = Json::array();
  for (uint64_t power = 1; power <= most; power *= 2)
    if (power >= static_cast<uint64_t>(rule.min())) powers.push_back(power);
  return {{"enum", powers}};
}

// One value of the field, whether it stands alone or in a list.
Json Element(const FieldDescriptor& field) {
  const v1::FieldRule& rule = RuleOf(field);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return {{"$ref", absl::StrCat("#/definitions/", field.message_type()->name())}};
    case FieldDescriptor::CPPTYPE_ENUM:
      return {{"enum", EnumNames(*field.enum_type())}};
    case FieldDescriptor::CPPTYPE_BOOL:
      return {{"type", {"boolean"}}};
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return {{"type", {"number"}},
              {rule.above_min() ? "exclusiveMinimum" : "minimum", rule.min_real()},
              {"maximum", rule.max_real()}};
    case FieldDescriptor::CPPTYPE_STRING:
      return Text(field);
    default:
      return Number(field);
  }
}

Json DefaultOf(const FieldDescriptor& field) {
  const std::string& text = RuleOf(field).default_value();
  double number = 0;
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) return text == "true";
  const bool worded = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING ||
                      field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM;
  if (worded || !absl::SimpleAtod(text, &number)) return text;
  return Json::parse(text);
}

Json Property(const FieldDescriptor& field) {
  const v1::FieldRule& rule = RuleOf(field);
  std::vector<Json> allowed = {Element(field)};
  if (field.is_repeated()) {
    Json list = {{"type", "array"}, {"items", allowed[0]}};
    if (rule.required()) list["minItems"] = 1;
    if (!rule.one_or_list()) allowed.clear();
    allowed.push_back(list);
  }
  // A key without a value counts as left out.
  if (!rule.required()) allowed.push_back({{"type", "null"}});
  Json property = {{"description", rule.help()}};
  if (allowed.size() == 1 && !allowed[0].contains("$ref")) {
    property.update(allowed[0]);
  } else {
    property["anyOf"] = allowed;
  }
  if (!rule.default_value().empty()) property["default"] = DefaultOf(field);
  if (!rule.example().empty()) property["examples"] = {rule.example()};
  return property;
}

void DescribeMessage(const Descriptor& type, Json& schema, Json& definitions) {
  Json properties = Json::object();
  Json required = Json::array();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    properties[field.name()] = Property(field);
    if (RuleOf(field).required()) required.push_back(field.name());
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const Descriptor& below = *field.message_type();
    if (definitions.contains(below.name())) continue;
    definitions[below.name()] = Json::object();
    Json described = Json::object();
    DescribeMessage(below, described, definitions);
    definitions[below.name()] = described;
  }
  schema["type"] = "object";
  schema["properties"] = properties;
  if (!required.empty()) schema["required"] = required;
  schema["additionalProperties"] = false;
}

int Main() {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "Topology file of bfly"}};
  Json definitions = Json::object();
  DescribeMessage(*v1::Topology::descriptor(), schema, definitions);
  schema["definitions"] = definitions;
  std::cout << schema.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace bfly::control

int main() { return bfly::control::Main(); }
