// SPDX-License-Identifier: Apache-2.0
#include "control/cli/watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/telemetry.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/stoppable_calls.h"
#include "control/cli/terminal.h"
#include "control/cli/text.h"
#include "control/cli/top.h"
#include "control/cli/top_links.h"
#include "control/top/number_text.h"

namespace bfly::control {
namespace {

using Clock = std::chrono::steady_clock;

// The controller does not push pictures of more links; the fullest ones stand for them.
constexpr uint64_t kMostLinksOfPicture = 400'000;
constexpr uint32_t kLinksOfLargeNetwork = 1000;

// The newest picture of a stream. A thread of its own reads the stream, so that signals and resizes
// never wait.
class PictureStream {
 public:
  // With `asks` the stream asks for a picture every interval. Without, it subscribes to pictures.
  PictureStream(const v1::SubscribeRequest& request, bool asks, const Common& common)
      : stub_(v1::Telemetry::NewStub(Connect(common))),
        common_(common),
        request_(request),
        calls_(common, kCallDeadline) {
    if (!asks) reader_ = stub_->Subscribe(&context_, request);
    thread_ = std::thread([this, asks] { asks ? Ask() : Read(); });
  }
  ~PictureStream() {
    context_.TryCancel();
    calls_.Stop();
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stop_.notify_all();
    thread_.join();
    close(event_);
  }

  int descriptor() const { return event_; }
  // Returns the picture that came since the last call, if any. Sets `ended` once the stream has
  // ended, and then `status` to the reason.
  std::optional<v1::Counters> Take(bool& ended, absl::Status& status) {
    uint64_t ignored;
    if (read(event_, &ignored, sizeof(ignored)) < 0) return std::nullopt;
    std::lock_guard lock(mutex_);
    ended = ended_;
    status = status_;
    return std::exchange(newest_, std::nullopt);
  }

 private:
  void Read() {
    v1::Counters counters;
    while (reader_->Read(&counters)) {
      std::lock_guard lock(mutex_);
      newest_ = counters;
      Wake();
    }
    End(Explain(reader_->Finish(), common_));
  }
  void Ask() {
    v1::GetCountersRequest request;
    *request.mutable_filter() = request_.filter();
    Clock::time_point due = Clock::now();
    for (;;) {
      v1::Counters counters;
      const absl::Status status =
          calls_.Call(stub_.get(), &v1::Telemetry::Stub::GetCounters, request, &counters);
      if (!status.ok()) return End(status);
      due = std::max(due + std::chrono::milliseconds(request_.interval_ms()), Clock::now());
      std::unique_lock lock(mutex_);
      newest_ = std::move(counters);
      Wake();
      if (stop_.wait_until(lock, due, [this] { return stopping_; })) return;
    }
  }
  void End(const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    status_ = status;
    Wake();
  }
  void Wake() {
    const uint64_t one = 1;
    // The write fails only if 2^64 - 1 wake-ups are pending already.
    (void)!write(event_, &one, sizeof(one));
  }

  const int event_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  std::unique_ptr<v1::Telemetry::Stub> stub_;
  const Common common_;
  const v1::SubscribeRequest request_;
  StoppableCalls calls_;         // of Ask
  grpc::ClientContext context_;  // of Read
  std::unique_ptr<grpc::ClientReader<v1::Counters>> reader_;
  std::condition_variable stop_;
  std::mutex mutex_;  // guards the four fields below
  bool stopping_ = false;
  std::optional<v1::Counters> newest_;
  bool ended_ = false;
  absl::Status status_;
  std::thread thread_;
};

std::string ClockTime(int64_t time_ns) {
  const time_t seconds = time_ns / 1'000'000'000;
  tm local{};
  localtime_r(&seconds, &local);
  return absl::StrFormat("%02d:%02d:%02d", local.tm_hour, local.tm_min, local.tm_sec);
}

// The pictures of one watch: the fabric, the newest picture, and the one before it for the rates.
struct WatchedPictures {
  v1::FabricStatus fabric;
  bool every_link = true;  // that carried something is in each picture
  std::optional<v1::Counters> now, before;

  const v1::Counters* then() const { return before ? &*before : nullptr; }
  double seconds() const {
    return before ? (now->monotonic_ns() - before->monotonic_ns()) / 1e9 : 0;
  }
  double per_second(uint64_t (v1::Conservation::*count)() const) const {
    if (seconds() <= 0) return 0;
    const uint64_t then = (before->conservation().*count)();
    const uint64_t counted = (now->conservation().*count)();
    return counted > then ? (counted - then) / seconds() : 0;  // a new fabric counts from 0
  }
  // Frames a second that the devices of all ports dropped before the fabric saw them.
  double missed_per_second() const {
    if (seconds() <= 0) return 0;
    const uint64_t then = Missed(*before), counted = Missed(*now);
    return counted > then ? (counted - then) / seconds() : 0;
  }
  std::string RatesLine() const {
    std::string line = absl::StrFormat("injected %s/s, delivered %s/s, dropped %s/s",
                                       Count(per_second(&v1::Conservation::injected)),
                                       Count(per_second(&v1::Conservation::delivered)),
                                       Count(per_second(&v1::Conservation::dropped)));
    if (now->ports_size() + now->removed_ports_size() > 0) {
      absl::StrAppend(&line, ", ports missed ", Count(missed_per_second()), "/s");
    }
    return line;
  }
};

std::vector<uint32_t> Ascending(std::vector<uint32_t> sorted) {
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

std::string PictureLine(const WatchedPictures& shown) {
  std::string line = absl::StrCat(ClockTime(shown.now->time_ns()), "  ", shown.RatesLine(), "  ",
                                  ConservationLine(shown.now->conservation()));
  if (Missed(*shown.now) > 0) absl::StrAppend(&line, "  ", MissedLine(*shown.now));
  for (const std::string& link : TopLinks(*shown.now, shown.then(), shown.every_link, 1))
    line += "  " + link;
  return line;
}

// Prints the picture as a line of text, or of JSON.
absl::Status PrintPicture(const WatchedPictures& shown, bool json) {
  if (json) return PrintJsonLine(*shown.now);
  printf("%s\n", PictureLine(shown).c_str());
  if (fflush(stdout) != 0) return absl::DataLossError("cannot write to standard output");
  return absl::OkStatus();
}

// Prints pictures until a signal, the stream's end or the time's end.
absl::Status PrintPictures(PictureStream& stream, SignalReader& signals, WatchedPictures& shown,
                           double seconds, bool json) {
  const Clock::time_point end =
      seconds > 0 ? Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000))
                  : Clock::time_point::max();
  while (Clock::now() < end) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd waiting[] = {{signals.descriptor(), POLLIN, 0}, {stream.descriptor(), POLLIN, 0}};
    poll(waiting, 2, static_cast<int>(std::min<int64_t>(left.count() + 1, 1000)));
    if (Interrupted(signals)) return absl::OkStatus();
    bool ended = false;
    absl::Status status;
    if (std::optional<v1::Counters> picture = stream.Take(ended, status)) {
      shown.before = std::exchange(shown.now, std::move(picture));
      const absl::Status printed = PrintPicture(shown, json);
      if (!printed.ok()) return printed;
    }
    if (ended) return status;
  }
  return absl::OkStatus();
}

// The view of `bfly top` that was asked for: the drawing, or the fullest links with --top.
absl::Status WatchOnTerminal(const WatchOptions& options, const Common& common) {
  TopOptions top;
  top.view = options.filter.top() > 0 ? "links" : "drawing";
  if (options.filter.top() > 0) top.sort = "circuits";
  top.part = {.stages = Ascending(options.stages),
              .rows = Ascending(options.rows),
              .ports = Ascending({options.filter.ports().begin(), options.filter.ports().end()})};
  top.interval_ms = options.interval_ms;
  top.seconds = options.seconds;
  return RunTop(top, common);
}

}  // namespace

absl::Status Watch(const WatchOptions& options, const Common& common) {
  if (!common.json && isatty(STDOUT_FILENO) == 1) return WatchOnTerminal(options, common);
  SignalReader signals;
  auto stub = v1::Fabric::NewStub(Connect(common));
  v1::StatusResponse response;
  if (absl::Status status =
          Call(stub.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &response, common);
      !status.ok())
    return status;
  if (!response.status().loaded())
    return absl::FailedPreconditionError("no fabric is loaded: there is nothing to watch");
  WatchedPictures shown{.fabric = response.status(), .now = {}, .before = {}};
  const auto count = [](const std::vector<uint32_t>& chosen, uint64_t all) {
    return chosen.empty() ? all : chosen.size();
  };
  const uint64_t ports = std::max(1u, shown.fabric.ports());
  const uint64_t links = ports * count(Ascending(options.rows), shown.fabric.rows()) *
                         count(Ascending(options.stages), shown.fabric.stages());
  // The controller does not push pictures of all links of a large network, so this client asks for
  // the part that it shows.
  const bool asks = ports * shown.fabric.rows() * shown.fabric.stages() > kMostLinksOfPicture &&
                    !options.filter.summary();
  if (links > kMostLinksOfPicture && common.json && options.filter.top() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(links,
                     " links are too many for each picture: choose some with --top, --rows "
                     "or --stages"));
  }

  v1::SubscribeRequest request;
  request.set_mode(v1::SubscribeRequest::SAMPLE);
  request.set_interval_ms(options.interval_ms);
  *request.mutable_filter() = options.filter;
  if (!common.json) {
    request.mutable_filter()->set_nonzero(true);
    if (links > kMostLinksOfPicture && options.filter.top() == 0)
      request.mutable_filter()->set_top(kLinksOfLargeNetwork);
  }
  shown.every_link = request.filter().top() == 0;
  PictureStream stream(request, asks, common);
  return PrintPictures(stream, signals, shown, options.seconds, common.json);
}

}  // namespace bfly::control
