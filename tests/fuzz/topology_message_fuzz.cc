// SPDX-License-Identifier: Apache-2.0
// Any message a client may send is refused with violations, or is a sound topology. Either way it
// can be written as JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "bfly/v1/topology.pb.h"
#include "control/json/message_json.h"
#include "control/topology_file/to_fabric_config.h"
#include "control/topology_file/validate.h"
#include "google/protobuf/stubs/logging.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // it reports every string that is no UTF-8
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace bfly::control;
  bfly::v1::Topology topology;
  if (!topology.ParseFromArray(bytes, static_cast<int>(size))) return 0;
  const auto violations = CheckTopology(&topology);
  for (const Violation& violation : violations) Require(!violation.message.empty());
  Require(ToStatus(violations).ok() == violations.empty());
  Require(ToJson(topology).is_object());
  const bool again = CheckTopology(&topology).empty();
  Require(again == violations.empty());
  if (!violations.empty()) return 0;
  for (const auto& plane : topology.data_planes()) {
    Require(ToFabricConfig(topology, plane.name()).ok());
  }
  return 0;
}
