// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Events over an EventLog.
#pragma once

#include "control/controller/resources.h"
#include "control/events/event_log.h"
#include "control/services/byte_service.h"
#include "control/services/watch_writer.h"

namespace bfly::control {

class EventsService final : public ByteService {
 public:
  EventsService(EventLog& events, Resources& resources, CallDesk& desk);

 private:
  EventLog& events_;
  Resources& resources_;
  WatchWriter writer_;
};

}  // namespace bfly::control
