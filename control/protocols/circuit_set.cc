// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/circuit_set.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr Row kNoInput = ~Row{0};

std::string Busy(absl::string_view field, Row row, const CircuitPath& holder) {
  return absl::StrCat(field, ": ", row, " is busy with circuit ", holder.input, " -> ",
                      holder.output);
}

}  // namespace

CircuitSet::CircuitSet(const Network& network)
    : load_(network),
      by_input_(network.rows()),
      input_busy_(network.rows()),
      reads_(network.rows()),
      input_of_output_(network.rows(), kNoInput),
      readers_(network.rows()) {}

absl::Status CircuitSet::CheckRange(Row input, Row output) const {
  const Row rows = network().rows();
  if (input < rows && output < rows) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(input >= rows ? "input: " : "output: ", input >= rows ? input : output,
                   " is outside 0..", rows - 1));
}

absl::Status CircuitSet::CheckFree(Row input, Row output) const {
  if (absl::Status status = CheckRange(input, output); !status.ok()) return status;
  const CircuitPath* at_input = AtInput(input);
  const CircuitPath* at_output = AtOutput(output);
  const uint32_t readers = readers_[output];
  if (at_input == nullptr && at_output == nullptr && readers == 0) return absl::OkStatus();
  std::string message;
  if (at_input != nullptr) message = Busy("input", input, *at_input);
  if (at_output != nullptr) {
    absl::StrAppend(&message, message.empty() ? "" : "; ", Busy("output", output, *at_output));
  }
  if (readers != 0) {
    absl::StrAppend(&message, message.empty() ? "" : "; ", "output: ", output, " is a disk with ",
                    readers, " reads");
  }
  return absl::FailedPreconditionError(message);
}

absl::StatusOr<CircuitPath> CircuitSet::SetUp(const PathChooser& chooser, Row input, Row output) {
  if (absl::Status status = CheckFree(input, output); !status.ok()) return status;
  const absl::StatusOr<CircuitPath> path = chooser.Find(load_, input, output);
  if (!path.ok()) return path;
  input_of_output_[path->output] = path->input;
  Put(*path);
  return path;
}

absl::Status CircuitSet::SetUp(const CircuitPath& path) {
  if (absl::Status status = CheckFree(path.input, path.output); !status.ok()) return status;
  if (absl::Status status = CheckEnd(path); !status.ok()) return status;
  input_of_output_[path.output] = path.input;
  Put(path);
  return absl::OkStatus();
}

absl::Status CircuitSet::SetUpRead(const CircuitPath& path) {
  if (absl::Status status = CheckRange(path.input, path.output); !status.ok()) return status;
  if (const CircuitPath* held = AtInput(path.input); held != nullptr) {
    return absl::FailedPreconditionError(Busy("input", path.input, *held));
  }
  if (const CircuitPath* held = AtOutput(path.output); held != nullptr) {
    return absl::FailedPreconditionError(Busy("output", path.output, *held));
  }
  if (absl::Status status = CheckEnd(path); !status.ok()) return status;
  reads_[path.input] = true;
  ++readers_[path.output];
  Put(path);
  return absl::OkStatus();
}

absl::Status CircuitSet::CheckEnd(const CircuitPath& path) const {
  const Row end = OutputOfTag(network(), path.tag);
  if (end == path.output) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("output: the path given ends at row ", end, ", not at ", path.output));
}

absl::Status CircuitSet::SetUpAll(const std::vector<CircuitPath>& paths) {
  for (size_t i = 0; i < paths.size(); ++i) {
    if (absl::Status status = SetUp(paths[i]); !status.ok()) {
      while (i-- > 0) Release(paths[i].input).IgnoreError();
      return status;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CircuitPath> CircuitSet::Release(Row input) {
  const CircuitPath* held = AtInput(input);
  if (held == nullptr) {
    return absl::NotFoundError(absl::StrCat("input: no circuit at row ", input));
  }
  input_busy_[input] = false;
  if (reads_[input]) {
    --readers_[held->output];
    reads_[input] = false;
  } else {
    input_of_output_[held->output] = kNoInput;
  }
  load_.Remove(input, held->tag);
  --size_;
  return *held;
}

void CircuitSet::Clear() {
  load_.Clear();
  size_ = 0;
  input_busy_.assign(input_busy_.size(), false);
  reads_.assign(reads_.size(), false);
  input_of_output_.assign(input_of_output_.size(), kNoInput);
  readers_.assign(readers_.size(), 0);
}

const CircuitPath* CircuitSet::AtInput(Row input) const {
  return input < by_input_.size() && input_busy_[input] ? &by_input_[input] : nullptr;
}

const CircuitPath* CircuitSet::AtOutput(Row output) const {
  return output < input_of_output_.size() && input_of_output_[output] != kNoInput
             ? &by_input_[input_of_output_[output]]
             : nullptr;
}

std::vector<CircuitPath> CircuitSet::circuits() const {
  std::vector<CircuitPath> standing;
  standing.reserve(size_);
  for (Row input = 0; input < by_input_.size(); ++input) {
    if (input_busy_[input]) standing.push_back(by_input_[input]);
  }
  return standing;
}

void CircuitSet::Put(const CircuitPath& path) {
  by_input_[path.input] = path;
  input_busy_[path.input] = true;
  load_.Add(path.input, path.tag);
  ++size_;
}

}  // namespace bfly::control
