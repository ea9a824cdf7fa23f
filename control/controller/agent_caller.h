// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bfly/v1/agent.pb.h"
#include "control/access/tls_flags.h"

namespace bfly::control {

// As whom a controller calls data planes.
struct AgentCaller {
  v1::AgentOwner owner;  // claims them
  TlsFlags tls;          // for data planes at TCP addresses
};

}  // namespace bfly::control
