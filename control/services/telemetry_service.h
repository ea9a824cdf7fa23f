// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Telemetry over a CounterPoll.
#pragma once

#include "bfly/v1/telemetry.pb.h"
#include "control/services/byte_service.h"
#include "control/services/counter_poll.h"
#include "control/services/picture_bytes.h"

namespace bfly::control {

class TelemetryService final : public ByteService {
 public:
  TelemetryService(CounterPoll& poll, CallDesk& desk);

  grpc::Status GetCounters(const grpc::ServerContextBase*, const v1::GetCountersRequest* request,
                           v1::Counters* response);

 private:
  CounterPoll& poll_;
  Resources& resources_;
  PictureBytes pictures_;
};

}  // namespace bfly::control
