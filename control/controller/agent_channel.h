// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control/access/tls_flags.h"

namespace bfly::control {

// A channel of its own to the data plane at `address`, which connects with the first call and again
// by itself. INVALID_ARGUMENT: a TCP address, and no files for it.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ChannelToAgent(const std::string& address,
                                                              const TlsFlags& tls);

}  // namespace bfly::control
