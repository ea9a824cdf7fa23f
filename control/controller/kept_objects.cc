// SPDX-License-Identifier: Apache-2.0
#include "control/controller/kept_objects.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/controller/kept_fabric.h"
#include "control/controller/place_message.h"
#include "control/intent/execute.h"

namespace bfly::control {
namespace {

// How long TakeOverLate takes it for granted that another process holds the store.
constexpr std::chrono::seconds kAskAgain{1};

// `objects` is the limit that the placement may have exceeded, or null after another error.
std::string NotTakenOver(const absl::Status& status, const Resource* objects) {
  std::string text = absl::StrCat("a placement was not taken over: ", status.message());
  if (objects != nullptr && absl::IsResourceExhausted(status)) {
    absl::StrAppend(&text, "; a fabric of this size has at most ", objects->limit(),
                    " objects; place the needed objects with `bfly data-server place --replace`");
  }
  return text;
}

}  // namespace

bool KeptObjects::are_unknown() const {
  bool unknown = false;
  intent_.TryRead([&](const Intent& intent) { unknown = !intent.store_problem.empty(); });
  return unknown;
}

absl::Status KeptObjects::TakeOver() {
  const auto records = store_.Open(NameForStore(intent_.now().topology));
  if (!records.ok()) {
    const std::string problem(records.status().message());
    if (problem == intent_.now().store_problem) return records.status();
    events_.Note(v1::Event::ERROR, problem);
    intent_.Change([&](Intent& intent) { intent.store_problem = problem; });
    return records.status();
  }
  intent_.Change([&](Intent& intent) {
    FabricState& state = intent.state;
    for (const std::string& record : *records) {
      const auto order = OrderOfRecord(record, state.network().rows(), state.objects().size(),
                                       resources_.objects.limit());
      const absl::Status status = order.ok() ? Execute(state, *order) : order.status();
      if (status.ok()) continue;
      events_.Note(v1::Event::WARNING,
                   NotTakenOver(status, order.ok() ? nullptr : &resources_.objects));
    }
    state.Commit();
    intent.store_problem.clear();
  });
  if (!records->empty()) {
    events_.Note(v1::Event::INFO,
                 absl::StrCat("took over ", intent_.now().state.objects().size(), " objects"));
  }
  return absl::OkStatus();
}

absl::StatusOr<KeptObjects::Reads> KeptObjects::KeptReads() {
  const auto kept = store_.Read();
  if (!kept.ok()) return kept.status();
  if (!kept->has_value() || (*kept)->fabric != NameForStore(intent_.now().topology)) return Reads();
  const auto record = ToRecord(**kept, store_.path());
  if (!record.ok()) return record.status();
  return ReadsOf(*record);
}

bool KeptObjects::NameReads(const Reads& reads) {
  std::vector<StandingCircuit> named;
  for (StandingCircuit& circuit : intent_.now().state.circuits()) {
    const auto read = reads.find(circuit.id);
    if (circuit.object != kUnknownObject || read == reads.end()) continue;
    circuit.object = read->second;
    named.push_back(std::move(circuit));
  }
  if (named.empty()) return false;
  intent_.ChangeAndTell([&](Intent& intent) {
    std::vector<Row> inputs;
    for (const StandingCircuit& circuit : named) {
      inputs.push_back(intent.state.Release(circuit.path.input).path.input);
    }
    intent.state.Commit();
    for (const StandingCircuit& circuit : named) {
      const CircuitPath& path = circuit.path;
      intent.state.Adopt(path.input, path.tag, circuit.id, circuit.object).IgnoreError();
    }
    return intent.state.NowAt(inputs);
  });
  return true;
}

absl::Status KeptObjects::TakeOverLate() {
  if (!intent_.is_loaded() || intent_.now().store_problem.empty()) return absl::OkStatus();
  if (Clock::now() < ask_at_) return held_;
  // Circuits that came before the objects are reads of nobody knows what.
  const std::vector<StandingCircuit> circuits = intent_.now().state.circuits();
  const bool any_unknown = std::any_of(circuits.begin(), circuits.end(), [](const auto& circuit) {
    return circuit.object == kUnknownObject;
  });
  const DataPlane& ingress = intent_.now().ingress();
  if (any_unknown && !ingress.usable()) return ingress.UnavailableError();
  // They are read before TakeOver: what is known after it is written over them.
  const absl::StatusOr<Reads> reads = any_unknown ? KeptReads() : absl::StatusOr<Reads>(Reads());
  absl::Status status = reads.status();
  if (!absl::IsAborted(status)) status = TakeOver();
  if (absl::IsAborted(status)) {
    held_ = status;
    ask_at_ = Clock::now() + kAskAgain;
  }
  if (!status.ok() || !any_unknown) return status;
  // The data plane knows the objects of its circuits, unless it began anew and got them from here.
  intent_.Change([](Intent& intent) { intent.circuits_known = false; });
  // If it does not answer, the watching thread goes on.
  reconcile_().IgnoreError();
  if (reads.ok() && NameReads(*reads)) reconcile_().IgnoreError();
  return absl::OkStatus();
}

}  // namespace bfly::control
