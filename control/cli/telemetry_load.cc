// SPDX-License-Identifier: Apache-2.0
#include "control/cli/telemetry_load.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "bfly/v1/telemetry.grpc.pb.h"
#include "bfly/v1/traffic.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/fleet.h"
#include "control/cli/process_cost.h"
#include "dataplane/runtime/control_threads.h"

namespace bfly::control {
namespace {

constexpr std::chrono::milliseconds kSignalLook{50};
// Before the first measurement, and after the subscriber comes or goes.
constexpr double kSettleSeconds = 0.2;
// Fewer pictures than this part of those asked for are not the load that is reported.
constexpr double kLeastPictures = 0.8;
// A measurement of fewer intervals can miss most of its pictures by the moment of the look.
constexpr double kLeastIntervals = 3;
// A worker with fewer busy passes than this part of all was not the limit.
constexpr double kBusyPasses = 0.5;

// Reads pictures of all links in a thread of its own from Start until Stop.
class Subscriber {
 public:
  explicit Subscriber(const Common& common) : stub_(v1::Telemetry::NewStub(Connect(common))) {}
  ~Subscriber() { Stop(); }

  void Start(uint32_t interval_ms) {
    v1::SubscribeRequest request;
    request.set_mode(v1::SubscribeRequest::SAMPLE);
    request.set_interval_ms(interval_ms);
    context_ = std::make_unique<grpc::ClientContext>();
    reader_ = stub_->Subscribe(context_.get(), request);
    thread_ = std::thread([this] {
      v1::Counters picture;
      while (reader_->Read(&picture)) {
        const std::lock_guard lock(mutex_);
        ++pictures_;
        links_ = static_cast<uint64_t>(picture.links_size());
      }
    });
  }
  void Stop() {
    if (!thread_.joinable()) return;
    context_->TryCancel();
    thread_.join();
    reader_->Finish().IgnoreError();
  }
  // Since the first Start.
  uint64_t pictures() {
    const std::lock_guard lock(mutex_);
    return pictures_;
  }
  // In the newest picture.
  uint64_t links() {
    const std::lock_guard lock(mutex_);
    return links_;
  }

 private:
  const std::unique_ptr<v1::Telemetry::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReader<v1::Counters>> reader_;
  std::thread thread_;
  std::mutex mutex_;
  uint64_t pictures_ = 0;  // mutex_
  uint64_t links_ = 0;     // mutex_
};

// The fabric under load, and the figures of one moment.
class TelemetryBench {
 public:
  TelemetryBench(const TelemetryBenchOptions& options, const ServedFabric& fabric, int worker_cpu,
                 SignalReader& signals)
      : options_(options),
        common_(fabric.common()),
        controller_(fabric.pid(kControllerName)),
        data_plane_(fabric.pid("dp0")),
        worker_cpu_(worker_cpu),
        signals_(signals),
        stub_(v1::Telemetry::NewStub(Connect(common_))),
        subscriber_(common_) {}

  absl::StatusOr<TelemetryBenchResult> Run() {
    if (absl::Status status = StartTraffic(); !status.ok()) return status;
    dataplane::KeepControlThreadsOff({worker_cpu_});
    if (absl::Status status = Wait(kSettleSeconds); !status.ok()) return status;
    TelemetryBenchResult result;
    for (int run = 0; run < options_.runs; ++run) {
      // The one that comes first changes from run to run.
      for (const int half : {0, 1}) {
        const bool subscribed = half == run % 2;
        const absl::StatusOr<TelemetryLoad> load = Measure(subscribed, result);
        if (!load.ok()) return load.status();
        (subscribed ? result.with : result.without).push_back(*load);
      }
    }
    if (absl::Status status = CheckPictures(options_.interval_ms, result.with); !status.ok()) {
      return status;
    }
    return result;
  }

 private:
  struct Moment {
    v1::Counters counters;
    ThreadTime worker;
    double data_plane = 0;  // CPU seconds
    double controller = 0;
    uint64_t pictures = 0;
  };

  absl::Status StartTraffic() {
    const auto stub = v1::Traffic::NewStub(Connect(common_));
    v1::StartTrafficRequest request;
    v1::TrafficSource* source = request.add_sources();
    source->set_destination(v1::TrafficSource::UNIFORM);
    source->set_bytes(64);
    source->set_seed(options_.seed);
    v1::StartTrafficResponse response;
    return Call(stub.get(), &v1::Traffic::Stub::Start, request, &response, common_);
  }

  absl::Status Wait(double seconds) {
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                         std::chrono::duration<double>(seconds));
    while (!Interrupted(signals_)) {
      const auto now = std::chrono::steady_clock::now();
      if (now >= end) return absl::OkStatus();
      std::this_thread::sleep_until(std::min(end, now + kSignalLook));
    }
    return absl::CancelledError("interrupted");
  }

  absl::StatusOr<Moment> Look() {
    Moment now;
    v1::GetCountersRequest request;
    request.mutable_filter()->set_summary(true);
    const absl::Status status =
        Call(stub_.get(), &v1::Telemetry::Stub::GetCounters, request, &now.counters, common_);
    if (!status.ok()) return status;
    if (now.counters.workers_size() != 1 || now.counters.monotonic_ns() == 0) {
      return absl::InternalError("the counters are not those of one worker");
    }
    now.worker = PinnedTime(data_plane_, worker_cpu_);
    now.data_plane = CpuSecondsOf(data_plane_);
    now.controller = CpuSecondsOf(controller_);
    now.pictures = subscriber_.pictures();
    return now;
  }

  absl::StatusOr<TelemetryLoad> Measure(bool subscribed, TelemetryBenchResult& result) {
    if (subscribed) subscriber_.Start(options_.interval_ms);
    absl::Status status = Wait(kSettleSeconds);
    const absl::StatusOr<Moment> begin = Look();
    status.Update(begin.status());
    if (status.ok()) status = Wait(options_.seconds);
    const absl::StatusOr<Moment> end = Look();
    status.Update(end.status());
    subscriber_.Stop();
    if (!status.ok()) return status;
    const TelemetryLoad load = Between(*begin, *end);
    if (status = CheckBusy(*begin, *end, load); !status.ok()) return status;
    result.links = std::max(result.links, subscriber_.links());
    const v1::Conservation& account = end->counters.conservation();
    result.account = {.injected = account.injected(),
                      .delivered = account.delivered(),
                      .dropped = account.dropped(),
                      .in_flight = account.in_flight()};
    return load;
  }

  static TelemetryLoad Between(const Moment& begin, const Moment& end) {
    const double seconds =
        static_cast<double>(end.counters.monotonic_ns() - begin.counters.monotonic_ns()) * 1e-9;
    const auto packets = static_cast<double>(end.counters.conservation().delivered() -
                                             begin.counters.conservation().delivered());
    const v1::WorkerCost& cost = end.counters.workers(0).cost();
    const v1::WorkerCost& before = begin.counters.workers(0).cost();
    const double ran = end.worker.ran - begin.worker.ran;
    TelemetryLoad load;
    load.packets = packets / seconds;
    load.by_cpu = ran > 0 ? packets / ran : 0;
    load.per_hop = static_cast<double>(cost.busy_cycles() - before.busy_cycles()) /
                   static_cast<double>(std::max<uint64_t>(1, cost.hops() - before.hops()));
    load.waited = (end.worker.waited - begin.worker.waited) / seconds;
    load.controller = (end.controller - begin.controller) / seconds;
    load.agent = (end.data_plane - begin.data_plane - ran) / seconds;
    load.pictures = static_cast<double>(end.pictures - begin.pictures) / seconds;
    load.seconds = seconds;
    return load;
  }

  static absl::Status CheckBusy(const Moment& begin, const Moment& end, const TelemetryLoad& load) {
    const v1::WorkerStatus& worker = end.counters.workers(0);
    const auto passes = static_cast<double>(worker.passes() - begin.counters.workers(0).passes());
    const auto idle =
        static_cast<double>(worker.idle_passes() - begin.counters.workers(0).idle_passes());
    if (load.packets <= 0 || idle > (1 - kBusyPasses) * passes) {
      return absl::FailedPreconditionError(
          "the worker was not the limit: it was idle in most of its passes");
    }
    return absl::OkStatus();
  }

  const TelemetryBenchOptions options_;
  const Common common_;
  const pid_t controller_;
  const pid_t data_plane_;
  const int worker_cpu_;
  SignalReader& signals_;
  const std::unique_ptr<v1::Telemetry::Stub> stub_;
  Subscriber subscriber_;
};

}  // namespace

absl::Status CheckTelemetryOptions(const TelemetryBenchOptions& options) {
  const double least = kLeastIntervals * options.interval_ms * 1e-3;
  if (options.seconds >= least * (1 - 1e-9)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("--seconds: %g s is less than %g intervals of %d ms (--interval), so it does "
                      "not show whether the pictures come; use at least %g s",
                      options.seconds, kLeastIntervals, options.interval_ms, least));
}

absl::Status CheckPictures(uint32_t interval_ms, const std::vector<TelemetryLoad>& with) {
  double came = 0, seconds = 0;
  for (const TelemetryLoad& load : with) {
    came += load.pictures * load.seconds;
    seconds += load.seconds;
  }
  const double wanted = 1e3 / interval_ms;
  if (came > 0 && came + 1 >= kLeastPictures * wanted * seconds) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "the controller was the limit: %.1f pictures/s came, %.1f were asked for; give it a longer "
      "--interval",
      seconds > 0 ? came / seconds : 0, wanted));
}

absl::StatusOr<TelemetryBenchResult> RunTelemetryBench(const TelemetryBenchOptions& options,
                                                       const ServedFabric& fabric, int worker_cpu,
                                                       SignalReader& signals) {
  return TelemetryBench(options, fabric, worker_cpu, signals).Run();
}

}  // namespace bfly::control
