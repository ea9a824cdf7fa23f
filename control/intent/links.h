// SPDX-License-Identifier: Apache-2.0
// Which links and nodes of a fabric are down, and how many circuits each link has room for. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "control/protocols/link_load.h"
#include "control/protocols/protocol.h"
#include "topologies/fault_set.h"
#include "topologies/link_capacity.h"
#include "topologies/network.h"

namespace bfly::control {

// RESOURCE_EXHAUSTED names the link.
absl::Status NoRoom(LinkId link, uint32_t circuits, uint32_t capacity);

class Links {
 public:
  // `network` must outlive the object.
  Links(const Network& network, LinkCapacity capacity);

  const FaultSet& faults() const { return faults_; }
  const LinkCapacity& capacity() const { return capacity_; }
  void SetFault(const Fault& fault, bool down) { faults_.SetFault(fault, down); }

  // INVALID_ARGUMENT names "avoid[i].row" and the like.
  absl::Status CheckAvoid(const std::vector<LinkId>& avoid) const;
  // RESOURCE_EXHAUSTED names the first link of the path without room for one more than `load`.
  absl::Status CheckRoom(const CircuitPath& path, const LinkLoad& load) const;
  // Checks the same, and UNAVAILABLE names the first link of the path that `faults` block.
  absl::Status CheckPath(const CircuitPath& path, const LinkLoad& load,
                         const FaultSet& faults) const;
  // Checks each path beside `load` and the paths before it. Errors name "field[i].link".
  absl::Status CheckInTurn(std::span<const CircuitPath> paths, LinkLoad load,
                           const FaultSet& faults, absl::string_view field) const;

 private:
  const Network& network_;
  FaultSet faults_;
  LinkCapacity capacity_;
};

// The links that paths must not cross: what is down, and what a request wants avoided. Without
// anything to avoid they are the faults of the links themselves.
class Forbidden {
 public:
  // `avoid` must have been checked.
  Forbidden(const Links& links, const std::vector<LinkId>& avoid);
  const FaultSet& faults() const { return own_.has_value() ? *own_ : faults_; }

 private:
  const FaultSet& faults_;
  std::optional<FaultSet> own_;
};

}  // namespace bfly::control
