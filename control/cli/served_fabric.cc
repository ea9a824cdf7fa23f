// SPDX-License-Identifier: Apache-2.0
#include "control/cli/served_fabric.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/fleet.h"

namespace bfly::control {

v1::Topology ServedFabric::OneWorker(const std::string& name, uint32_t rows, uint64_t seed,
                                     int lcore) {
  v1::Topology topology;
  topology.set_name(name);
  topology.mutable_network()->set_kind(v1::TWO_FOLD_BUTTERFLY);
  topology.mutable_network()->set_rows(rows);
  topology.mutable_network()->set_seed(seed);
  topology.add_data_planes()->set_name("dp0");
  topology.mutable_data_planes(0)->set_memory_mb(64);
  v1::StagePlacement* placement = topology.add_placement();
  placement->set_stages(absl::StrCat("0-", StagesOfTwoFold(rows) - 1));
  placement->set_lcore(static_cast<uint32_t>(lcore));
  placement->set_data_plane("dp0");
  return topology;
}

ServedFabric::~ServedFabric() { Fleet(common_.run_dir).Stop(/*keep_logs=*/false); }

pid_t ServedFabric::pid(const std::string& name) const { return Fleet(common_.run_dir).pid(name); }

absl::StatusOr<std::unique_ptr<ServedFabric>> ServedFabric::Start(const v1::Topology& topology,
                                                                  SignalReader& signals) {
  std::unique_ptr<ServedFabric> fabric(new ServedFabric);
  if (absl::Status made = fabric->directory_.made(); !made.ok()) return made;
  const auto started = Fleet(fabric->common_.run_dir)
                           .Start(topology, /*device_dirs=*/{}, /*state_dir=*/"", /*web=*/"",
                                  [&signals] { return Interrupted(signals); });
  if (!started.ok()) return started.status();
  const auto stub = v1::Fabric::NewStub(Connect(fabric->common_));
  v1::LoadRequest request;
  *request.mutable_topology() = topology;
  v1::LoadResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Fabric::Stub::Load, request, &response, fabric->common_);
  if (!status.ok()) return status;
  return fabric;
}

}  // namespace bfly::control
