// SPDX-License-Identifier: Apache-2.0
#include "control/events/event_record.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/events/event_words.h"

namespace bfly::control {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

LogLevel LevelOf(v1::Event::Severity severity) {
  switch (severity) {
    case v1::Event::DEBUG:
      return LogLevel::kDebug;
    case v1::Event::WARNING:
      return LogLevel::kWarning;
    case v1::Event::ERROR:
      return LogLevel::kError;
    default:
      return LogLevel::kInfo;
  }
}

void AddSingle(const Message& message, const FieldDescriptor& field, const std::string& name,
               std::vector<LogField>* out) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return out->push_back({name, reflection.GetString(message, &field)});
    case FieldDescriptor::CPPTYPE_UINT32:
      return out->push_back({name, uint64_t{reflection.GetUInt32(message, &field)}});
    case FieldDescriptor::CPPTYPE_UINT64:
      return out->push_back({name, reflection.GetUInt64(message, &field)});
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return out->push_back({name, reflection.GetDouble(message, &field)});
    case FieldDescriptor::CPPTYPE_BOOL:
      return out->push_back({name, reflection.GetBool(message, &field)});
    case FieldDescriptor::CPPTYPE_ENUM:
      return out->push_back(
          {name, absl::AsciiStrToLower(reflection.GetEnum(message, &field)->name())});
    default:
      return;
  }
}

// Lists of numbers and of names become one text. Other lists are in the words.
void AddList(const Message& message, const FieldDescriptor& field, const std::string& name,
             std::vector<LogField>* out) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<std::string> entries;
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        entries.push_back(reflection.GetRepeatedString(message, &field, i));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        entries.push_back(absl::StrCat(reflection.GetRepeatedUInt32(message, &field, i)));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        entries.push_back(absl::StrCat(reflection.GetRepeatedUInt64(message, &field, i)));
        break;
      default:
        break;
    }
  }
  if (!entries.empty()) out->push_back({name, absl::StrJoin(entries, ",")});
}

void AddFields(const Message& message, const std::string& prefix, std::vector<LogField>* out) {
  std::vector<const FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    const std::string name = absl::StrCat(prefix, field->name());
    if (field->is_repeated()) {
      AddList(message, *field, name, out);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      AddFields(message.GetReflection()->GetMessage(message, field), absl::StrCat(name, "_"), out);
    } else {
      AddSingle(message, *field, name, out);
    }
  }
}

// Does not cut a character of several bytes in two.
std::string Shortened(const std::string& text) {
  size_t size = std::min(text.size(), kMostEventText);
  while (size > 0 && size < text.size() && (text[size] & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

void Cut(Message* message) {
  const Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection.ListFields(*message, &set);
  for (const FieldDescriptor* field : set) {
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field->is_repeated()) {
      while (reflection.FieldSize(*message, field) > kMostInEvent) {
        reflection.RemoveLast(message, field);
      }
      for (int i = 0; is_message && i < reflection.FieldSize(*message, field); ++i) {
        Cut(reflection.MutableRepeatedMessage(message, field, i));
      }
      for (int i = 0; field->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
                      i < reflection.FieldSize(*message, field);
           ++i) {
        reflection.SetRepeatedString(message, field, i,
                                     Shortened(reflection.GetRepeatedString(*message, field, i)));
      }
    } else if (is_message) {
      Cut(reflection.MutableMessage(message, field));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      reflection.SetString(message, field, Shortened(reflection.GetString(*message, field)));
    }
  }
}

}  // namespace

std::string KindName(v1::Event::Kind kind) {
  return absl::AsciiStrToLower(v1::Event::Kind_Name(kind));
}

std::vector<v1::Event::Kind> EventKinds() {
  std::vector<v1::Event::Kind> kinds;
  for (int kind = v1::Event::Kind_MIN; kind <= v1::Event::Kind_MAX; ++kind) {
    if (kind != 0 && v1::Event::Kind_IsValid(kind)) {
      kinds.push_back(static_cast<v1::Event::Kind>(kind));
    }
  }
  return kinds;
}

LogRecord RecordOf(const v1::Event& event) {
  LogRecord record{.level = LevelOf(event.severity()),
                   .text = WordsOf(event),
                   .event = KindName(static_cast<v1::Event::Kind>(event.what_case()))};
  if (event.sequence() != 0) record.fields.push_back({"sequence", uint64_t{event.sequence()}});
  const FieldDescriptor* what = event.GetDescriptor()->FindFieldByNumber(event.what_case());
  // The text of a notice is the text of the record.
  if (what == nullptr) return record;
  AddFields(event.GetReflection()->GetMessage(event, what), "", &record.fields);
  std::erase_if(record.fields, [](const LogField& field) { return field.name == "text"; });
  return record;
}

// Looking at every field is slow, and nearly all events are small.
void CutEvent(v1::Event* event) {
  if (event->ByteSizeLong() > kMostEventText) Cut(event);
}

}  // namespace bfly::control
