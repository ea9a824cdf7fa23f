// SPDX-License-Identifier: Apache-2.0
// Trials of a throughput search on a running fabric, driven by its built-in sources: the measurer
// of RFC 9971.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/telemetry.grpc.pb.h"
#include "bfly/v1/traffic.grpc.pb.h"
#include "control/cli/verb.h"
#include "control/throughput/frame_mix.h"
#include "control/throughput/mlr_search.h"

namespace bfly::control {

struct TrafficProfile {
  FrameMix mix;
  v1::TrafficSource to;  // rows, destination and seed of the sources; nothing else is used
  uint32_t senders = 0;  // rows that send
};

struct TrialOutcome {
  TrialResult trial;
  uint64_t intended = 0;  // frames that the sources were told to send
  uint64_t sent = 0;      // in time
  uint64_t dropped = 0;   // by the fabric, of frames that it carried
  uint64_t left = 0;      // still inside when the trial was given up waiting
  // Frames that did not come from the sources of the trial; at least so many if the sources have
  // not sent all of theirs.
  uint64_t others = 0;
  std::map<std::string, uint64_t> reasons = {};  // of `dropped`
  // End to end, of the frames that arrived within two seconds of the end, also of others; of no
  // frame if it was not asked for.
  v1::LatencySummary latency = {};
  std::vector<v1::LatencyBucket> histogram = {};  // of `latency`
};

class FabricTrials {
 public:
  FabricTrials(const Common& common, TrafficProfile profile);

  // FailedPrecondition: sources run on the fabric, whose frames would be counted too. Sources that
  // have finished are allowed, except those of an earlier search.
  absl::Status CheckAlone();

  // Sends one frame of each size on each row, to see whether the fabric takes the sources.
  // Otherwise the errors of CheckAlone, or that of the fabric, which names --bytes if it is about
  // sizes.
  absl::Status CheckTaken();

  // What the sources send as fast as their workers allow, in frames a second of each sending row.
  absl::StatusOr<double> UnpacedLoad(double seconds);

  // Sends round(load * duration) frames on each row at constant gaps. Frames that have not been
  // sent when the last one is overdue by kShortestGrace, or by kGrace of the duration if that is
  // longer, that were dropped, or that have not arrived within two seconds are lost. It begins once
  // the fabric has no frame of an earlier trial. The loss ratio is an upper bound: a frame that was
  // sent too late and then dropped counts twice. FailedPrecondition: that takes too long.
  // Cancelled: Ctrl-C.
  absl::StatusOr<TrialOutcome> Run(double load, double duration, bool latency = false);

  static constexpr double kGrace = 0.01;          // of the duration
  static constexpr double kShortestGrace = 0.01;  // seconds

 private:
  absl::Status Start(double load, double duration, bool latency);
  absl::Status Stop();
  absl::StatusOr<v1::ListTrafficResponse> List(bool histogram = false);
  absl::StatusOr<v1::Counters> Read();
  // Of the frames inside, and the time waited: whether to read again.
  using InsideWaits = std::function<bool(uint64_t, std::chrono::duration<double>)>;
  absl::StatusOr<v1::Counters> ReadUntilEmpty(const InsideWaits& waits);
  absl::StatusOr<v1::Counters> ReadAfterResidual();
  absl::StatusOr<v1::Counters> ReadOnceDrained();
  absl::StatusOr<v1::LatencyReport> LatencyOfAll();
  struct Sent {
    v1::ListTrafficResponse list;  // after the last frame, or after the time was up
    uint64_t in_time = 0;
  };
  absl::StatusOr<Sent> Send(double load, double duration, bool latency);
  double GiveUp(double load, double duration) const;
  std::string NameOf(const FrameShare& frame) const;

  const Common common_;
  const TrafficProfile profile_;
  std::unique_ptr<v1::Traffic::Stub> traffic_;
  std::unique_ptr<v1::Telemetry::Stub> telemetry_;
};

}  // namespace bfly::control
