// SPDX-License-Identifier: Apache-2.0
// Every protocol that bfly knows. To add one, write its file, declare its constant in protocols.h
// and add it here.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/protocols/protocols.h"

namespace bfly::control {

namespace {

std::vector<const Protocol*>& Registered() {
  static std::vector<const Protocol*> protocols = {
      &kMinimum, &kCollision, &kGreedy,     &kOneChoice, &kValiant,
      &kBenes,   &kQLimited,  &kRanadeFlip, &kDisjoint,
  };
  return protocols;
}

}  // namespace

const std::vector<const Protocol*>& AllProtocols() { return Registered(); }

void AddProtocol(const Protocol& protocol) { Registered().push_back(&protocol); }

absl::StatusOr<const Protocol*> FindProtocol(absl::string_view name, NetworkKind kind) {
  std::vector<absl::string_view> names;
  for (const Protocol* protocol : AllProtocols()) {
    names.push_back(protocol->name);
    if (name != protocol->name) continue;
    if (protocol->defined_on(kind)) return protocol;
    std::vector<absl::string_view> kinds;
    for (NetworkKind k : AllKinds()) {
      if (protocol->defined_on(k)) kinds.push_back(KindName(k));
    }
    return absl::FailedPreconditionError(absl::StrCat("protocol: ", name, " is not defined on a ",
                                                      KindName(kind), "; it needs ",
                                                      absl::StrJoin(kinds, " or ")));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "protocol: \"", name, "\" is not known; use one of ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::unique_ptr<PathChooser>> MakeChooser(absl::string_view name,
                                                         const Network& network,
                                                         const ProtocolOptions& options) {
  absl::StatusOr<const Protocol*> protocol = FindProtocol(name, network.kind());
  if (!protocol.ok()) return protocol.status();
  if ((*protocol)->make_chooser == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("protocol: ", name, " routes all requests together, not one at a time"));
  }
  return (*protocol)->make_chooser(network, options);
}

}  // namespace bfly::control
