// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/schedule_file.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/topology_file/message_reader.h"
#include "control/topology_file/quantity.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/schema.h"
#include "google/protobuf/repeated_field.h"
#include "topologies/network.h"

namespace bfly::control {
namespace {

constexpr uint64_t kShortestSlot = 1'000;
constexpr uint64_t kLongestSlot = 10'000'000'000;
// Violations about rows that stand twice, of all slots together; more would not help.
constexpr int kMostRepeats = 100;

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

// Finds rows that stand twice in a list. Rows that no network has are left out: the network refuses
// them. The time is linear in the length of the lists, and the memory is a word for each row.
class RepeatedRows {
 public:
  explicit RepeatedRows(std::vector<Violation>* violations) : violations_(*violations) {}

  // `list` is the name of the list in `slot`, such as "inputs" in "slots[2]".
  void Check(const google::protobuf::RepeatedField<uint32_t>& rows, const std::string& slot,
             const char* list) {
    for (int i = 0; i < rows.size() && found_ < kMostRepeats; ++i) {
      const uint32_t row = rows[i];
      if (row >= kMaxRows) continue;
      if (row >= first_.size()) first_.resize(row + 1);
      if (first_[row] == 0) {
        first_[row] = i + 1;
        continue;
      }
      ++found_;
      violations_.push_back({absl::StrCat(slot, ".", list, "[", i, "]"), absl::StrCat(row),
                             absl::StrCat("row ", row, " is used twice, first by ", list, "[",
                                          first_[row] - 1, "]")});
    }
    for (const uint32_t row : rows) {
      if (row < first_.size()) first_[row] = 0;
    }
  }

 private:
  std::vector<Violation>& violations_;
  std::vector<int> first_;  // by row: its first place in the list, counted from 1; 0: it has none
  int found_ = 0;
};

void CheckSlot(const v1::ScheduleSlot& slot, const std::string& field, RepeatedRows& repeated,
               std::vector<Violation>* violations) {
  if (slot.permutation().empty() == slot.outputs().empty()) {
    violations->push_back({field, "", "needs either a permutation or outputs"});
  } else if (!slot.inputs().empty() && slot.inputs_size() != slot.outputs_size()) {
    violations->push_back(
        {absl::StrCat(field, ".inputs"), "",
         absl::StrCat("has ", slot.inputs_size(), " rows for ", slot.outputs_size(), " outputs")});
  }
  repeated.Check(slot.inputs(), field, "inputs");
  repeated.Check(slot.outputs(), field, "outputs");
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
  RepeatedRows repeated(&violations);
  for (int i = 0; i < schedule->slots_size(); ++i) {
    CheckSlot(schedule->slots(i), absl::StrCat("slots[", i, "]"), repeated, &violations);
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
