// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/schedule_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/topology_file/message_reader.h"
#include "control/topology_file/quantity.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/schema.h"

namespace bfly::control {
namespace {

constexpr uint64_t kShortestSlot = 1'000;
constexpr uint64_t kLongestSlot = 10'000'000'000;

void CheckTimes(const v1::Schedule& schedule, std::vector<Violation>* violations) {
  const absl::StatusOr<uint64_t> slot = ParseDuration(schedule.slot());
  const absl::StatusOr<uint64_t> guard = ParseDuration(schedule.guard());
  if (!slot.ok() || !guard.ok()) return;  // their rules say why
  if (*slot < kShortestSlot || *slot > kLongestSlot) {
    violations->push_back(
        {"slot", schedule.slot(),
         absl::StrCat(schedule.slot(), " is out of range (allowed: ", FormatDuration(kShortestSlot),
                      " to ", FormatDuration(kLongestSlot), ")")});
  } else if (*guard >= *slot) {
    violations->push_back(
        {"guard", schedule.guard(),
         absl::StrCat(schedule.guard(), " is not shorter than the slot of ", schedule.slot())});
  }
}

void CheckSlot(const v1::ScheduleSlot& slot, const std::string& field,
               std::vector<Violation>* violations) {
  if (slot.permutation().empty() == slot.outputs().empty()) {
    violations->push_back({field, "", "needs either a permutation or outputs"});
  } else if (!slot.inputs().empty() && slot.inputs_size() != slot.outputs_size()) {
    violations->push_back(
        {absl::StrCat(field, ".inputs"), "",
         absl::StrCat("has ", slot.inputs_size(), " rows for ", slot.outputs_size(), " outputs")});
  }
}

}  // namespace

std::vector<Violation> CheckSchedule(v1::Schedule* schedule) {
  FillDefaults(schedule);
  std::vector<Violation> violations;
  CheckRules(*schedule, "", &violations);
  CheckTimes(*schedule, &violations);
  const bool listed = schedule->sequence() == v1::Schedule::SLOTS;
  if (listed && schedule->slots().empty()) {
    violations.push_back({"slots", "",
                          "is missing (give the slots of a cycle, or sequence: rotor or "
                          "round_robin)"});
  }
  if (!listed && !schedule->slots().empty()) {
    violations.push_back({"slots", "", "a rotor or round robin has slots of its own"});
  }
  for (int i = 0; i < schedule->slots_size(); ++i) {
    CheckSlot(schedule->slots(i), absl::StrCat("slots[", i, "]"), &violations);
  }
  return violations;
}

absl::StatusOr<v1::Schedule> ReadScheduleFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTopologyText(path);
  if (!text.ok()) return text.status();
  v1::Schedule schedule;
  std::vector<Diagnostic> diagnostics;
  MessageReader reader(path == "-" ? "standard input" : path, &diagnostics);
  if (text->size() > kMaxTopologyFileBytes) {
    reader.Complain({}, "", "",
                    absl::StrCat("is longer than a schedule file may be (allowed: ",
                                 kMaxTopologyFileBytes, " bytes)"));
    return ToStatus(diagnostics);
  }
  if (reader.Read(*text, "a schedule file", "sequence or slots", &schedule) &&
      diagnostics.empty()) {
    for (const Violation& violation : CheckSchedule(&schedule)) {
      reader.Complain(reader.PlaceOf(violation.field), violation.field, violation.value,
                      violation.message);
    }
  }
  reader.Sort();
  if (!diagnostics.empty()) return ToStatus(diagnostics);
  return schedule;
}

uint64_t SlotNsOf(const v1::Schedule& schedule) {
  return ParseDuration(schedule.slot()).value_or(0);
}
uint64_t GuardNsOf(const v1::Schedule& schedule) {
  return ParseDuration(schedule.guard()).value_or(0);
}

}  // namespace bfly::control
