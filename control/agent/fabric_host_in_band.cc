// SPDX-License-Identifier: Apache-2.0
// Circuits that the stage workers set up and release by themselves.
#include "absl/strings/str_cat.h"
#include "control/agent/fabric_host.h"

namespace bfly::control {
namespace {

absl::StatusOr<dataplane::InBandReport> SetUp(dataplane::InBand& in_band, const InBandTask& task) {
  if (!task.reads.empty()) return in_band.SetUpReads(task.reads, task.program);
  return in_band.SetUp(task.requests, task.program);
}

}  // namespace

void FabricHost::Reinstate(const std::vector<HeldCircuit>& released) {
  const std::unique_lock state(state_);
  for (const HeldCircuit& circuit : released) {
    // The circuit stood before, so installing it again cannot fail.
    fabric_->InstallCircuit(circuit.input, circuit.tag).IgnoreError();
    circuits_[circuit.input] = {
        .held = true, .tag = circuit.tag, .id = circuit.id, .object = circuit.object};
  }
  if (!released.empty()) ++revision_;
}

absl::StatusOr<InBandAnswer> FabricHost::ExchangeInBand(const InBandTask& task) {
  // Workers may take long, and readers do not wait for them.
  const std::lock_guard change(change_);
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  if (task.base_revision != 0 && task.base_revision != revision_) {
    return absl::AbortedError(absl::StrCat("base_revision: ", task.base_revision,
                                           " is not the current revision, ", revision_));
  }
  const absl::StatusOr<dataplane::InBand*> in_band = fabric_->in_band();
  if (!in_band.ok()) return in_band.status();
  InBandAnswer answer;
  std::vector<HeldCircuit> before;
  if (!task.release.empty()) {
    const absl::StatusOr<dataplane::InBandReport> released = (*in_band)->Release(task.release);
    if (!released.ok()) return released.status();
    const std::unique_lock state(state_);
    for (const Row input : task.release) {
      const Slot& slot = circuits_[input];
      before.push_back({input, slot.tag, slot.id, slot.object});
      circuits_[input] = Slot{};
    }
    answer.revision = ++revision_;
    if (task.requests.empty() && task.reads.empty()) answer.report = *released;
    // The answer to a release has only its cost.
    answer.report.paths.clear();
  }
  if (!task.requests.empty() || !task.reads.empty()) {
    absl::StatusOr<dataplane::InBandReport> chosen = SetUp(**in_band, task);
    if (!chosen.ok() || chosen->refusal.has_value()) Reinstate(before);
    if (!chosen.ok()) return chosen.status();
    answer.report = *std::move(chosen);
    const std::unique_lock state(state_);
    for (size_t i = 0; i < answer.report.paths.size(); ++i) {
      const dataplane::InBandPath& path = answer.report.paths[i];
      Slot& slot = circuits_[path.input] = {.held = true, .tag = path.tag, .id = 0};
      if (!task.objects.empty()) slot.object = task.objects[i];
    }
    answer.revision = ++revision_;
  }
  if (task.link_circuits) {
    // An exchange without requests counts what was installed by other means since the last
    // exchange.
    const absl::Status counted = (*in_band)->Release({}).status();
    if (counted.ok()) answer.link_circuits = (*in_band)->circuits_on_links();
    const bool only_counts = task.release.empty() && task.requests.empty() && task.reads.empty();
    if (!counted.ok() && only_counts) return counted;
  }
  if (answer.revision == 0) answer.revision = revision_;
  return answer;
}

}  // namespace bfly::control
