// SPDX-License-Identifier: Apache-2.0
// One data plane as the controller knows it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "control/controller/agent_client.h"
#include "topologies/fault_set.h"

namespace bfly::control {

class DataPlane {
 public:
  // The controller claims the data plane as the owner that `caller` says.
  DataPlane(std::string name, std::string address, const AgentCaller& caller)
      : name_(std::move(name)), address_(std::move(address)), client_(address_, caller) {}

  const std::string& name() const { return name_; }
  const std::string& address() const { return address_; }
  AgentClient& client() { return client_; }

  struct Known {
    bool reachable = false;
    int late_looks = 0;  // in a row that were not answered in time
    // As far as the controller knows, the data plane holds what the intent says.
    bool in_step = false;
    // The data plane runs a fabric of somebody else, so its counts are not of the loaded fabric.
    bool other_fabric = false;
    // The controller owns the data plane, so no other controller does.
    bool owned = false;
    std::string problem;  // why not
    std::string boot_id;
    uint64_t loads = 0;       // of fabrics by this controller
    uint64_t revision = 0;    // of what it held when it was last in step
    uint64_t reconciled = 0;  // circuits installed again or removed since it came back
    v1::DataPlaneStatus status;
    google::protobuf::RepeatedPtrField<v1::AgentWorker> workers;
    google::protobuf::RepeatedPtrField<v1::AgentPort> ports;
    // The data plane was told to take these links and nodes down and did not answer. The call
    // failed, so they are brought back if they are down.
    std::vector<Fault> taken_back = {};
    // The data plane was told to load this fabric and did not answer. Nobody wants the fabric any
    // more.
    std::shared_ptr<const v1::Topology> given_up = nullptr;
    // The data plane did not answer when its fabric, of this revision, was unloaded. Nobody wants
    // the fabric any more.
    std::optional<uint64_t> left_behind = {};

    void LearnStatus(const v1::AgentState& held) {
      status = held.status();
      workers = held.workers();
      ports = held.ports();
    }
  };
  Known known() const {
    const std::lock_guard lock(mutex_);
    return known_;
  }
  template <class Change>
  void Learn(Change&& change) {
    const std::lock_guard lock(mutex_);
    change(known_);
  }
  bool usable() const {
    const std::lock_guard lock(mutex_);
    return known_.reachable && known_.in_step;
  }
  // UNAVAILABLE: says why the data plane has no counts of the loaded fabric to read.
  absl::Status CheckCounts() const {
    const std::lock_guard lock(mutex_);
    if (!known_.reachable) return absl::UnavailableError("it does not answer");
    if (known_.other_fabric) return absl::UnavailableError("it runs a fabric of somebody else");
    return absl::OkStatus();
  }
  // Unavailable: names the data plane, and says what is wrong with it.
  absl::Status UnavailableError() const {
    const std::string problem = known().problem;
    return absl::UnavailableError(absl::StrCat("data plane ", name_, " at ", address_, ": ",
                                               problem.empty() ? "was not reached yet" : problem));
  }

 private:
  const std::string name_;
  const std::string address_;
  AgentClient client_;  // thread-safe
  mutable std::mutex mutex_;
  Known known_;
};

// For this reason nobody knows what the data plane did. The next look compares it with the intent
// and makes up the difference.
inline void MarkOutOfStep(DataPlane& plane, const absl::Status& why) {
  plane.Learn([&](DataPlane::Known& known) {
    known.in_step = false;
    // An answer may be an error without a text.
    known.problem =
        why.message().empty() ? StatusCodeToString(why.code()) : std::string(why.message());
  });
}

}  // namespace bfly::control
