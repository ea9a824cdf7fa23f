// SPDX-License-Identifier: Apache-2.0
// Reads the stream of a capture until it is over or Ctrl-C ends it.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "bfly/v1/capture.pb.h"
#include "control/cli/terminal.h"
#include "control/cli/verb.h"

namespace bfly::control {

// Calls `take` for each message. If it returns false, or a signal asks to end, the capture is
// cancelled, which is not an error; `interrupted` says whether it was a signal. `take` may change
// the message. Make `signals` before the first call of gRPC.
absl::Status ReadCapture(const v1::CaptureRequest& request, const Common& common,
                         SignalReader& signals, const std::function<bool(v1::CaptureBatch&)>& take,
                         bool* interrupted = nullptr);

}  // namespace bfly::control
