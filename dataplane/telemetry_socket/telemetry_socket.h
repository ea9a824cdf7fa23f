// SPDX-License-Identifier: Apache-2.0
// The commands /bfly/... of DPDK's telemetry socket (EalOptions::telemetry), which
// dpdk-telemetry.py and other tools of DPDK's users read.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "dataplane/fabric/fabric.h"

namespace bfly::dataplane {

// Calls its argument with the loaded fabric, which stays until it returns. Returns false if no
// fabric is loaded. Called by threads of DPDK, one at a time.
using FabricReader = std::function<bool(const std::function<void(const Fabric&)>&)>;

// While an object lives, the commands answer with the figures of the fabric. DPDK keeps a command
// for as long as the process runs; before and after the object's life the commands answer that no
// fabric is loaded. Only one object may exist at a time.
class TelemetrySocket {
 public:
  explicit TelemetrySocket(FabricReader reader);
  ~TelemetrySocket();  // waits for the answers in progress
  TelemetrySocket(const TelemetrySocket&) = delete;
  TelemetrySocket& operator=(const TelemetrySocket&) = delete;
};

}  // namespace bfly::dataplane
