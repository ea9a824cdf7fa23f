// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "control/agent/fabric_host.h"

namespace bfly::control {

// FAILED_PRECONDITION: the data plane belongs to another controller than the caller.
inline absl::Status CheckCaller(const grpc::ServerContext& context, FabricHost& host) {
  const auto& metadata = context.client_metadata();
  const auto id = metadata.find(kOwnerMetadata);
  const absl::Status status = host.ownership().Check(
      id == metadata.end() ? "" : std::string(id->second.data(), id->second.size()));
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("data plane ", host.name(), " ", status.message()));
}

}  // namespace bfly::control
