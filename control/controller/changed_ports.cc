// SPDX-License-Identifier: Apache-2.0
#include "control/controller/changed_ports.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/status/field_errors.h"
#include "control/topology_file/validate.h"
#include "google/protobuf/util/message_differencer.h"

namespace bfly::control {
namespace {

template <class Messages>
void RemoveNamed(const std::string& name, Messages* messages) {
  messages->erase(std::remove_if(messages->begin(), messages->end(),
                                 [&](const auto& message) { return message.name() == name; }),
                  messages->end());
}

template <class Messages>
bool HasNamed(const std::string& name, const Messages& messages) {
  return std::any_of(messages.begin(), messages.end(),
                     [&](const auto& message) { return message.name() == name; });
}

}  // namespace

bool SameButPorts(const v1::Topology& a, const v1::Topology& b) {
  v1::Topology without_a = a, without_b = b;
  for (v1::Topology* topology : {&without_a, &without_b}) {
    topology->clear_ports();
    topology->clear_hosts();
  }
  return google::protobuf::util::MessageDifferencer::Equals(without_a, without_b);
}

absl::Status AddPortTo(const v1::HostPort& port, v1::Topology* topology) {
  const std::string at = absl::StrCat("ports[", topology->ports_size(), "]");
  *topology->add_ports() = port;
  FieldErrors errors;
  for (const Violation& violation : CheckTopology(topology)) {
    const bool of_port = absl::StartsWith(violation.field, at);
    errors.Add(of_port ? absl::StrCat("port", violation.field.substr(at.size()))
                       : absl::StrCat("topology.", violation.field),
               violation.message);
  }
  return errors.ToStatus();
}

absl::Status RemovePortFrom(const std::string& name, v1::Topology* topology) {
  if (!HasNamed(name, topology->ports())) {
    std::vector<std::string> names;
    for (const v1::HostPort& port : topology->ports()) names.push_back(port.name());
    return ErrorAtField(absl::StatusCode::kNotFound, "name",
                        absl::StrCat("the fabric has no host port \"", name, "\"; it has ",
                                     names.empty() ? "none" : absl::StrJoin(names, ", ")));
  }
  RemoveNamed(name, topology->mutable_ports());
  RemoveNamed(name, topology->mutable_hosts());
  return absl::OkStatus();
}

void NoteAdded(const v1::HostPort& port, v1::PortChanges* changes) { *changes->add_added() = port; }

void NoteRemoved(const std::string& name, v1::PortChanges* changes) {
  if (HasNamed(name, changes->added())) return RemoveNamed(name, changes->mutable_added());
  changes->add_removed(name);
}

absl::Status ApplyPortChanges(const v1::PortChanges& changes, v1::Topology* topology) {
  // Removed ports go first: their rows and devices may be those of ports that were added later.
  for (const std::string& name : changes.removed()) RemovePortFrom(name, topology).IgnoreError();
  for (const v1::HostPort& port : changes.added()) {
    if (HasNamed(port.name(), topology->ports())) continue;
    if (absl::Status status = AddPortTo(port, topology); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
