// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/reader.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "control/topology_file/schema.h"
#include "control/topology_file/validate.h"
#include "control/topology_file/yaml_tree.h"

namespace bfly::control {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Values visited, those behind aliases each time anew: the bound on what an alias bomb can cost.
constexpr int kMaxValues = 200'000;

std::string Join(const std::string& path, absl::string_view key) {
  return path.empty() ? std::string(key) : absl::StrCat(path, ".", key);
}

// Walks a YAML tree along a message's descriptor and fills the message.
class Walk {
 public:
  Walk(std::string file, std::vector<Diagnostic>* diagnostics)
      : file_(std::move(file)), diagnostics_(*diagnostics) {}

  void ReadMessage(const YamlNode& node, Message* message, const std::string& path);
  void Complain(Place place, const std::string& field, const std::string& value,
                const std::string& message) {
    diagnostics_.push_back({file_, place.line, place.column, field, value, message});
  }
  // Where `field` or what contains it stands.
  Place PlaceOf(std::string field) const;
  bool too_long() const { return values_ > kMaxValues; }

 private:
  void ReadField(const YamlNode& node, const FieldDescriptor& field, Message* message,
                 const std::string& path);
  void ReadElement(const YamlNode& node, const FieldDescriptor& field, Message* message,
                   const std::string& path);
  void ReadScalar(const YamlNode& node, const FieldDescriptor& field, Message* message,
                  const std::string& path);
  void ReadNumber(const YamlNode& node, const FieldDescriptor& field, Message* message,
                  const std::string& path);

  std::string file_;
  std::vector<Diagnostic>& diagnostics_;
  std::map<std::string, Place> places_;
  int values_ = 0;
};

Place Walk::PlaceOf(std::string field) const {
  while (true) {
    if (const auto found = places_.find(field); found != places_.end()) return found->second;
    const size_t cut = field.find_last_of(".[");
    if (cut == std::string::npos) break;
    field.resize(cut);
  }
  return Place{.line = 1, .column = 0};
}

void Walk::ReadMessage(const YamlNode& node, Message* message, const std::string& path) {
  const Descriptor& type = *message->GetDescriptor();
  if (node.type != YamlNode::Type::kMap) {
    return Complain(node.place, path, Describe(node),
                    absl::StrCat(Describe(node), " stands where a map of keys should"));
  }
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  std::map<std::string, Place> seen;
  for (const YamlNode::Entry& entry : node.entries) {
    const std::string at = Join(path, Quotable(entry.key));
    const FieldDescriptor* field = type.FindFieldByName(entry.key);
    if (field == nullptr) {
      const auto meant = Nearest(entry.key, names);
      Complain(
          entry.place, at, "",
          absl::StrCat("unknown key", meant ? absl::StrCat("; did you mean ", *meant, "?") : "",
                       " (allowed: ", absl::StrJoin(names, ", "), ")"));
      continue;
    }
    const auto [first, fresh] = seen.emplace(entry.key, entry.place);
    if (!fresh) {
      Complain(entry.place, at, "",
               absl::StrCat("stands here a second time, first on line ", first->second.line));
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

void Walk::ReadField(const YamlNode& node, const FieldDescriptor& field, Message* message,
                     const std::string& path) {
  if (!field.is_repeated()) return ReadElement(node, field, message, path);
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

void Walk::ReadElement(const YamlNode& node, const FieldDescriptor& field, Message* message,
                       const std::string& path) {
  const Reflection& reflection = *message->GetReflection();
  ++values_;
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

void Walk::ReadScalar(const YamlNode& node, const FieldDescriptor& field, Message* message,
                      const std::string& path) {
  const Reflection& reflection = *message->GetReflection();
  const std::string value = Quotable(node.text);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      if (const auto wrong = Breaks(field, node.text)) Complain(node.place, path, value, *wrong);
      return field.is_repeated() ? reflection.AddString(message, &field, node.text)
                                 : reflection.SetString(message, &field, node.text);
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
    case FieldDescriptor::CPPTYPE_BOOL:
      if (node.text != "true" && node.text != "false") {
        return Complain(node.place, path, value,
                        absl::StrCat("\"", value, "\" is unknown (allowed: true or false)"));
      }
      return field.is_repeated() ? reflection.AddBool(message, &field, node.text == "true")
                                 : reflection.SetBool(message, &field, node.text == "true");
    default:
      return ReadNumber(node, field, message, path);
  }
}

void Walk::ReadNumber(const YamlNode& node, const FieldDescriptor& field, Message* message,
                      const std::string& path) {
  const Reflection& reflection = *message->GetReflection();
  const std::string value = Quotable(node.text);
  absl::string_view digits = node.text;
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

}  // namespace

bool TopologyReading::network_ok() const {
  return topology.has_network() &&
         std::none_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& diagnostic) {
           return diagnostic.field.empty() || diagnostic.field == "network" ||
                  absl::StartsWith(diagnostic.field, "network.");
         });
}

TopologyReading ParseTopology(absl::string_view text, const std::string& file_name) {
  TopologyReading reading;
  Walk walk(file_name, &reading.diagnostics);
  if (text.size() > kMaxTopologyFileBytes) {
    walk.Complain({}, "", "",
                  absl::StrCat("is longer than a topology file may be (allowed: ",
                               kMaxTopologyFileBytes, " bytes)"));
    return reading;
  }
  const YamlTree tree(text);
  if (tree.failed()) {
    walk.Complain(tree.error().place, "", "", tree.error().message);
    return reading;
  }
  if (tree.root() == nullptr || tree.root()->type == YamlNode::Type::kNull) {
    walk.Complain({}, "", "", "is empty; a topology file has at least name, network and placement");
    return reading;
  }
  walk.ReadMessage(*tree.root(), &reading.topology, "");
  if (walk.too_long()) {
    reading.diagnostics.clear();
    walk.Complain({}, "", "",
                  absl::StrCat("has more values than a topology file may have, aliases written out "
                               "(allowed: ",
                               kMaxValues, ")"));
    return reading;
  }
  CompleteTopology(&reading.topology);
  for (const Violation& violation : ValidateTopology(reading.topology)) {
    walk.Complain(walk.PlaceOf(violation.field), violation.field, violation.value,
                  violation.message);
  }
  std::stable_sort(reading.diagnostics.begin(), reading.diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.line < b.line; });
  return reading;
}

absl::StatusOr<v1::Topology> ReadTopology(absl::string_view text, const std::string& file_name) {
  TopologyReading reading = ParseTopology(text, file_name);
  if (!reading.ok()) return ToStatus(reading.diagnostics);
  return std::move(reading.topology);
}

absl::StatusOr<v1::Topology> ReadTopologyFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTopologyText(path);
  if (!text.ok()) return text.status();
  return ReadTopology(*text, path == "-" ? "standard input" : path);
}

}  // namespace bfly::control
