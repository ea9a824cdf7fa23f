// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Telemetry over a CounterPoll.
#pragma once

#include "bfly/v1/telemetry.grpc.pb.h"
#include "control/services/counter_poll.h"

namespace bfly::control {

class TelemetryService final
    : public v1::Telemetry::WithCallbackMethod_Subscribe<v1::Telemetry::Service> {
 public:
  explicit TelemetryService(CounterPoll& poll) : poll_(poll) {}

  grpc::Status GetCounters(grpc::ServerContext*, const v1::GetCountersRequest* request,
                           v1::Counters* response) override;
  using v1::Telemetry::WithCallbackMethod_Subscribe<v1::Telemetry::Service>::Subscribe;
  grpc::ServerWriteReactor<v1::Counters>* Subscribe(grpc::CallbackServerContext*,
                                                    const v1::SubscribeRequest* request) override;

 private:
  CounterPoll& poll_;
};

}  // namespace bfly::control
