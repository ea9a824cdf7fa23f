// SPDX-License-Identifier: Apache-2.0
// What a capture is about, in the words of data planes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "absl/status/statusor.h"
#include "bfly/v1/capture.pb.h"
#include "control/controller/loaded_intent.h"
#include "control/intent/slot_paths.h"

namespace bfly::control {

inline constexpr uint32_t kMostCaptured = 1024;  // links, ports, circuits and paths together
inline constexpr uint32_t kMostSnaplenBytes = 9018;
inline constexpr uint32_t kDefaultSnaplenBytes = 256;
inline constexpr uint32_t kMostCaptureSeconds = 86'400;
inline constexpr uint32_t kDefaultCaptureSeconds = 3'600;

struct CapturePlan {
  v1::AgentCaptureRequest request;
  DataPlanes planes;  // those that own a link or port of the request
};

// INVALID_ARGUMENT names every wrong field. NOT_FOUND: there is no such port or circuit.
// FAILED_PRECONDITION: no fabric is loaded, or nodes pick the ports of a path frame by frame.
// `scheduled` tells which paths the slots of a schedule that runs give to pairs of rows.
using ScheduledTags =
    std::function<std::map<RowPair, std::set<Tag>>(const std::set<RowPair>& pairs)>;
absl::StatusOr<CapturePlan> PlanCapture(const v1::CaptureRequest& request,
                                        const LoadedIntent& intent, const ScheduledTags& scheduled);

// Writes the circuits that stand now to the frames of their pairs of rows. `request` is of these
// frames. Data planes tell the low 16 bits of input rows. If it asks for paths alone, the input
// becomes the row that it asks for with these bits, if that is one. Where a network has more rows
// and the row is not known, the input stays and the frame has no circuit.
void NameCircuits(const LoadedIntent& intent, const v1::AgentCaptureRequest& request,
                  v1::CaptureBatch* batch);

}  // namespace bfly::control
