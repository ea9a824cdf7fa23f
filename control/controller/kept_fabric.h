// SPDX-License-Identifier: Apache-2.0
// What is kept of a fabric, as messages: made from an intent, and made an intent again.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "bfly/v1/fabric.pb.h"
#include "control/controller/intent.h"
#include "control/store/store.h"

namespace bfly::control {

// `state` is what one data plane would hold that ran the whole fabric. It says whether the fabric
// was loaded when it was kept.
struct FabricRecord {
  v1::AgentState state;
  std::vector<std::string> placements;
};

// The state without its circuits. It says that the ids of the next `set_ups_ahead` circuits are
// given already.
v1::AgentState StateOf(const Intent& intent, bool loaded, uint64_t set_ups_ahead = 0);
// DATA_LOSS: the bytes in the file `path` are not what a controller kept.
absl::StatusOr<FabricRecord> ToRecord(const KeptFabric& kept, const std::string& path);
// The objects that circuits of the record read, by the ids of the circuits. Objects that nobody
// knew when it was written are not among them.
std::unordered_map<uint64_t, uint64_t> ReadsOf(const FabricRecord& record);

// The numbers of what is kept in the file `path`.
v1::KeptIntent SummaryOf(const FabricRecord& record, const std::string& path);
v1::KeptIntent SummaryOf(const Intent& intent, const std::string& path);
// Whether there is more than the topology file says.
bool IsWorthKeeping(const v1::KeptIntent& summary);
bool IsWorthKeeping(const Intent& intent);

// Brings everything back into an intent of the same network that is as MakeIntent made it. There
// may be `most_objects`.
// FAILED_PRECONDITION: the record is of another fabric, or the topology has no room for it any
// more, such as for the frames of a source.
absl::Status Restore(const FabricRecord& record, const std::string& path, uint64_t most_objects,
                     Intent& intent);

}  // namespace bfly::control
