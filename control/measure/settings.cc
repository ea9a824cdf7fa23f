// SPDX-License-Identifier: Apache-2.0
#include "control/measure/settings.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/topology_file/message_reader.h"
#include "control/topology_file/schema.h"

namespace bfly::control {
namespace {

// "costs" of "costs.hop_ns" and of "costs[0]".
absl::string_view TopKeyOf(absl::string_view field) {
  return field.substr(0, field.find_first_of(".["));
}

// Reads "rho=0.5" as a YAML document into the message. The override replaces the whole value, so
// the key is cleared first.
absl::Status LayOver(const std::string& override, google::protobuf::Message& message) {
  const size_t equals = override.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--set ", override, ": should be key=value, for example rho=0.5 or seeds=[1, 2, 3]"));
  }
  const std::string key = override.substr(0, equals);
  std::string value = override.substr(equals + 1);
  const google::protobuf::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(key);
  // In a shell a list is typed as "1,2,3".
  if (field != nullptr && field->is_repeated() && value.find('[') == std::string::npos) {
    value = absl::StrCat("[", value, "]");
  }
  const std::unique_ptr<google::protobuf::Message> laid(message.New());
  std::vector<Diagnostic> diagnostics;
  MessageReader reader("--set " + override, &diagnostics);
  const bool read = reader.Read(absl::StrCat(key, ": ", value, "\n"), "a setting",
                                "a key and a value", laid.get());
  // The document has this key only; other required keys stand in the file.
  if (read && field != nullptr) {
    std::erase_if(diagnostics, [&](const Diagnostic& d) { return TopKeyOf(d.field) != key; });
  }
  if (!diagnostics.empty()) return ToStatus(diagnostics);
  if (field != nullptr) message.GetReflection()->ClearField(&message, field);
  message.MergeFrom(*laid);
  return absl::OkStatus();
}

// Adds a place to each line of the status: the setting or the line of the file that gave the value.
absl::Status WithPlaces(const absl::Status& status, const std::string& path,
                        const MessageReader& reader, const std::vector<std::string>& settings) {
  if (status.ok()) return status;
  std::string text;
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    const absl::string_view field = line.substr(0, line.find(": "));
    const absl::string_view key = TopKeyOf(field);
    const auto laid = std::find_if(settings.rbegin(), settings.rend(), [&](const auto& setting) {
      return setting.substr(0, setting.find('=')) == key;
    });
    absl::StrAppend(&text, text.empty() ? "" : "\n");
    if (laid != settings.rend()) {
      absl::StrAppend(&text, "--set ", *laid, ": ", line);
    } else if (const Place place = reader.PlaceOf(std::string(field)); place.column > 0) {
      absl::StrAppend(&text, path, ":", place.line, ": ", line);
    } else {
      absl::StrAppend(&text, path, ": ", line);
    }
  }
  return absl::Status(status.code(), text);
}

}  // namespace

absl::Status ReadWithSettings(const std::string& path, absl::string_view text,
                              absl::string_view what, absl::string_view minimum,
                              const std::vector<std::string>& settings,
                              google::protobuf::Message* message,
                              const std::function<absl::Status()>& check) {
  std::vector<Diagnostic> diagnostics;
  MessageReader reader(path, &diagnostics);
  reader.Read(text, what, minimum, message);
  reader.Sort();
  if (!diagnostics.empty()) return ToStatus(diagnostics);
  for (const std::string& setting : settings) {
    if (absl::Status status = LayOver(setting, *message); !status.ok()) return status;
  }
  FillDefaults(message);
  return WithPlaces(check(), path, reader, settings);
}

absl::Status CheckAllRules(const google::protobuf::Message& message) {
  std::vector<Violation> violations;
  CheckRules(message, "", &violations);
  if (violations.empty()) return absl::OkStatus();
  std::string text;
  for (const Violation& v : violations) absl::StrAppend(&text, v.field, ": ", v.message, "\n");
  text.pop_back();
  return absl::InvalidArgumentError(text);
}

}  // namespace bfly::control
