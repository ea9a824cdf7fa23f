// SPDX-License-Identifier: Apache-2.0
// What data planes and the store hold when the controller starts is taken over.
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/intent/execute.h"
#include "control/server/address.h"
#include "control/services/agent_answers.h"
#include "control/services/controller.h"
#include "control/services/place_message.h"
#include "google/protobuf/util/message_differencer.h"

namespace bfly::control {
namespace {

// Sockets in the run directory that may be agents'.
std::vector<std::string> SocketsIn(const std::string& directory) {
  std::vector<std::string> addresses;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.is_socket(error) && entry.path().extension() == ".sock" &&
        entry.path().stem() != "controller") {
      addresses.push_back("unix:" + entry.path().string());
    }
  }
  return addresses;
}

// `objects`: the limit that the placement may exceed, null if it was another error.
std::string NotTakenOver(const absl::Status& status, const Resource* objects) {
  std::string text = absl::StrCat("a placement was not taken over: ", status.message());
  if (objects != nullptr && absl::IsResourceExhausted(status)) {
    absl::StrAppend(
        &text, "; a fabric of this size has at most ", objects->limit(),
        " objects, place those that are needed with `bfly data-server place --replace`");
  }
  return text;
}

}  // namespace

std::vector<std::string> Controller::AgentAddresses() const {
  std::vector<std::string> addresses = options_.agents;
  const std::vector<std::string> sockets = SocketsIn(options_.run_directory);
  addresses.insert(addresses.end(), sockets.begin(), sockets.end());
  return addresses;
}

void Controller::Adopt() {
  const std::lock_guard change(change_);
  DataPlanes found;
  v1::Topology topology;
  if (intent_ != nullptr) topology = intent_->topology;
  std::erase_if(unheard_, [&](const Unheard& agent) {
    const auto held = agent.client->GetState(/*full=*/true);
    if (IsUnreachable(held.status())) return false;
    if (!held.ok() || !held->loaded()) return true;
    if (!held->owner().empty() && !held->caller_owns()) {
      options_.log(absl::StrCat("data plane ", held->data_plane(), " at ", agent.address, " ",
                                BelongsTo(held->owner()).message()));
      return true;
    }
    if (intent_ == nullptr && found.empty()) topology = held->topology();
    if (!google::protobuf::util::MessageDifferencer::Equals(topology, held->topology())) {
      options_.log(absl::StrCat("data plane ", held->data_plane(), " at ", agent.address,
                                " runs another fabric, ", held->topology().name(),
                                ", and is left alone"));
      return true;
    }
    found.push_back(std::make_shared<DataPlane>(held->data_plane(), agent.address, options_.owner));
    return true;
  });
  if (intent_ != nullptr) {
    for (const auto& plane : found) MoveTo(plane);
  } else if (!found.empty()) {
    TakeOver(topology, found);
  }
}

void Controller::AdoptLate() {
  bool heard = false;
  for (const Unheard& agent : unheard_) {
    heard |= !IsUnreachable(agent.client->GetState(/*full=*/false).status());
  }
  if (heard) Adopt();
}

void Controller::MoveTo(const std::shared_ptr<DataPlane>& found) {
  for (std::shared_ptr<DataPlane>& plane : intent_->planes) {
    if (plane->name() != found->name() || plane->address() == found->address()) continue;
    {
      const std::unique_lock lock(state_);
      plane = found;
    }
    Reconcile(*plane).IgnoreError();
  }
}

void Controller::TakeOver(const v1::Topology& topology, const DataPlanes& found) {
  auto intent = MakeIntent(topology, options_.run_directory, options_.owner, found, 0);
  if (!intent.ok()) {
    options_.log(
        absl::StrCat("cannot take over fabric ", topology.name(), ": ", intent.status().message()));
    return;
  }
  (*intent)->circuits_known = false;
  resources_.FitTo((*intent)->state.network().rows());
  {
    const std::unique_lock lock(state_);
    intent_ = *std::move(intent);
  }
  AdoptObjects();
  options_.log(absl::StrCat("took over fabric ", topology.name()));
  for (const auto& plane : intent_->planes) Reconcile(*plane).IgnoreError();
}

// Before the circuits: some of them read objects.
void Controller::AdoptObjects() {
  const auto records = store_->Open(NameForStore(intent_->topology));
  if (!records.ok()) {
    options_.log(std::string(records.status().message()));
    return;
  }
  const std::unique_lock lock(state_);
  FabricState& state = intent_->state;
  for (const std::string& record : *records) {
    const auto order = OrderOfRecord(record, state.network().rows(), state.objects().size(),
                                     resources_.objects.limit());
    const absl::Status status = order.ok() ? Execute(state, *order) : order.status();
    if (status.ok()) continue;
    options_.log(NotTakenOver(status, order.ok() ? nullptr : &resources_.objects));
  }
  state.Commit();
  if (!records->empty()) {
    options_.log(absl::StrCat("took over ", state.objects().size(), " objects"));
  }
}

}  // namespace bfly::control
