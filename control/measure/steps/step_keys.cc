// SPDX-License-Identifier: Apache-2.0
#include "control/measure/steps/step_keys.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace bfly::control {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;

// These say what runs and how often, whatever the program.
bool HasEveryProgram(const std::string& name) {
  return name == "program" || name == "d" || name == "seeds" || name == "seed_limits" ||
         name == "claims";
}

const FieldDescriptor& StepFieldOf(const std::string& key) {
  return *v1::StepExperiment::descriptor()->FindFieldByName(key);
}

}  // namespace

const std::vector<std::string>& StepKeys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> names;
    const auto& type = *v1::StepExperiment::descriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const std::string name(type.field(i)->name());
      if (type.field(i)->is_repeated() && !HasEveryProgram(name)) names.push_back(name);
    }
    return names;
  }();
  return keys;
}

std::vector<StepValue> GivenValues(const v1::StepExperiment& experiment, const std::string& key) {
  const FieldDescriptor& field = StepFieldOf(key);
  const Reflection& reflection = *experiment.GetReflection();
  std::vector<StepValue> values;
  for (int i = 0; i < reflection.FieldSize(experiment, &field); ++i) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT32:
        values.emplace_back(
            static_cast<double>(reflection.GetRepeatedUInt32(experiment, &field, i)));
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        values.emplace_back(reflection.GetRepeatedBool(experiment, &field, i) ? "true" : "false");
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        values.emplace_back(absl::AsciiStrToLower(
            std::string(reflection.GetRepeatedEnum(experiment, &field, i)->name())));
        break;
      default:
        values.emplace_back(reflection.GetRepeatedString(experiment, &field, i));
    }
  }
  return values;
}

void SetValue(const std::string& key, const std::string& text, v1::StepExperiment* experiment) {
  const FieldDescriptor& field = StepFieldOf(key);
  const Reflection& reflection = *experiment->GetReflection();
  reflection.ClearField(experiment, &field);
  uint32_t number = 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      if (absl::SimpleAtoi(text, &number)) reflection.AddUInt32(experiment, &field, number);
      return;
    case FieldDescriptor::CPPTYPE_BOOL:
      reflection.AddBool(experiment, &field, text == "true");
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      if (const auto* value = field.enum_type()->FindValueByName(absl::AsciiStrToUpper(text))) {
        reflection.AddEnum(experiment, &field, value);
      }
      return;
    default:
      reflection.AddString(experiment, &field, text);
  }
}

StepValue ValueOf(const std::string& text) {
  double number = 0;
  if (absl::SimpleAtod(text, &number)) return number;
  return text;
}

}  // namespace bfly::control
