// SPDX-License-Identifier: Apache-2.0
// Writes a JSON Schema of topology files for editors, from the (field_rule) options that the reader
// checks too. It refuses nothing that the reader takes, but for numbers in quotes. What must hold
// between fields, the reader alone knows.
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

// JSON Schema knows the regular expressions of ECMAScript. An empty text counts as left out.
constexpr char kRanges[] = "^( *[0-9]+ *(- *[0-9]+ *)?(, *[0-9]+ *(- *[0-9]+ *)?)*)?$";
constexpr char kRate[] = "^(none|\\s*[0-9.]+\\s*[kMG]?bps\\s*)?$";
constexpr char kDuration[] = "^(\\s*[0-9.]+\\s*[num]?s\\s*)?$";

// A value as YAML reads it: a number or a truth value that stands where text should is text.
Json Text(const FieldDescriptor& field) {
  const v1::FieldRule& rule = RuleOf(field);
  if (rule.quantity() == v1::FieldRule::RATE) return {{"type", {"string"}}, {"pattern", kRate}};
  if (rule.quantity() == v1::FieldRule::DURATION)
    return {{"type", {"string"}}, {"pattern", kDuration}};
  Json text = {{"type", {"string", "number", "boolean"}}};
  if (rule.ranges())
    text = {{"type", {"string", "integer"}},
            {"pattern", kRanges},
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
