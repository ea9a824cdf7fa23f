// SPDX-License-Identifier: Apache-2.0
// An event as a record of the log, and what may be in an event.
#pragma once

#include <string>
#include <vector>

#include "bfly/v1/events.pb.h"
#include "control/log/log_record.h"

namespace bfly::control {

// Lists of an event have at most kMostInEvent entries, and texts at most kMostEventText bytes.
inline constexpr int kMostInEvent = 16;
inline constexpr size_t kMostEventText = 512;

// "topology", "data_plane", ...: the name of the field in Event.what.
std::string KindName(v1::Event::Kind kind);
// All kinds, by number.
std::vector<v1::Event::Kind> EventKinds();
// Fields of the record have the names of the fields of the event: data_plane, fabric, change, ...
LogRecord RecordOf(const v1::Event& event);
// Cuts lists and texts that are too long.
void CutEvent(v1::Event* event);

}  // namespace bfly::control
