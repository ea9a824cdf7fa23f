// SPDX-License-Identifier: Apache-2.0
// Makes what a plan says, and takes away what a journal says, and nothing else.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/lab/journal.h"
#include "control/lab/net_namespace.h"
#include "control/lab/plan.h"
#include "control/topology_file/diagnostic.h"

namespace bfly::control {

// Everything on this machine that stands in the way of the plan: names that somebody has,
// interfaces and processes that are not there. Changes nothing.
std::vector<Violation> CheckMachine(const LabPlan& plan);

// Makes everything. The journal is written first, thing by thing. After an error, what has been
// made is still there: RemoveLab() takes it away. `between` is called between any two effects.
absl::StatusOr<LabJournal> MakeLab(
    const LabPlan& plan, const std::string& run_dir, const BetweenEffects& between = [] {});

struct Removal {
  int namespaces = 0;
  int links = 0;
  std::vector<std::string> errors;  // things that are, or may be, still there, with the reason
};
// Whether Linux was started again after the lab was made. Then nothing of it is there except, where
// /run is on a disk, the files of its namespaces. False if that cannot be read.
bool IsOfAnotherBoot(const LabRecord& record);
// Removes what the record names, as far as it is still there and still the same thing.
Removal RemoveLab(const LabRecord& record);

// Whether the interface of a host is as it was when the lab came up: "up", "down", or "gone"; "not
// known" or "not known without sudo" where that cannot be seen. The interface of a host of kind
// interface is its port. Empty for virtual machines, whose interfaces bfly does not see.
std::string StateOf(const LabHost& host, const LabRecord& record);

// Opens the namespace of a host. NotFound: it has none, or another one has its name now.
absl::StatusOr<NetNamespace> NamespaceOf(const LabHost& host, const LabRecord& record);

}  // namespace bfly::control
