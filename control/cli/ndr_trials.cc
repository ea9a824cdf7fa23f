// SPDX-License-Identifier: Apache-2.0
#include "control/cli/ndr_trials.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/cli/client.h"
#include "control/cli/interruptible.h"

namespace bfly::control {
namespace {

using TrialClock = std::chrono::steady_clock;
using TrialSeconds = std::chrono::duration<double>;

constexpr char kNamePrefix[] = "bench-ndr-";
constexpr TrialSeconds kResidualFrames{2};  // RFC 2544, section 23
constexpr TrialSeconds kBetweenLooks{0.002};
constexpr TrialSeconds kMostDraining{120};
// Drops of frames that no built-in source sends. They come of what hosts send meanwhile.
constexpr const char* kOfOthers[] = {"truncated",     "oversized",  "not_for_fabric", "unknown_row",
                                     "unknown_input", "bad_header", "trunk_foreign"};

bool IsOfOthers(const std::string& reason) {
  return std::find(std::begin(kOfOthers), std::end(kOfOthers), reason) != std::end(kOfOthers);
}

std::map<std::string, uint64_t> DropsOf(const v1::Counters& before, const v1::Counters& after) {
  std::map<std::string, uint64_t> drops;
  for (const v1::DropCount& count : after.drops()) drops[count.reason()] += count.packets();
  for (const v1::DropCount& count : before.drops()) drops[count.reason()] -= count.packets();
  std::erase_if(drops, [](const auto& drop) { return drop.second == 0 || IsOfOthers(drop.first); });
  return drops;
}

bool IsOfTrial(const v1::TrafficSourceStatus& status) {
  return absl::StartsWith(status.source().name(), kNamePrefix);
}

bool HaveFinished(const v1::ListTrafficResponse& list) {
  return std::all_of(list.sources().begin(), list.sources().end(),
                     [](const auto& status) { return !IsOfTrial(status) || status.finished(); });
}

// Of all sources of the trial together; the time is that of the latest.
FramesSent SentIn(const v1::ListTrafficResponse& list) {
  FramesSent sent;
  for (const v1::TrafficSourceStatus& status : list.sources()) {
    if (!IsOfTrial(status)) continue;
    sent.frames += status.packets();
    sent.seconds = std::max(sent.seconds, status.seconds());
  }
  return sent;
}

absl::Status Wait(TrialSeconds time) {
  const TrialClock::time_point end =
      TrialClock::now() + std::chrono::duration_cast<TrialClock::duration>(time);
  constexpr TrialSeconds kNap{0.05};  // until the next look for Ctrl-C
  while (!Interrupted()) {
    const TrialSeconds left = end - TrialClock::now();
    if (left.count() <= 0) return absl::OkStatus();
    std::this_thread::sleep_for(std::min(left, kNap));
  }
  return absl::CancelledError("interrupted");
}

}  // namespace

FabricTrials::FabricTrials(const Common& common, TrafficProfile profile)
    : common_(common),
      profile_(std::move(profile)),
      traffic_(v1::Traffic::NewStub(Connect(common))),
      telemetry_(v1::Telemetry::NewStub(Connect(common))) {}

std::string FabricTrials::NameOf(const FrameShare& frame) const {
  return absl::StrCat(kNamePrefix, frame.bytes);
}

// A load of 0: as fast as the workers allow, until stopped.
absl::Status FabricTrials::Start(double load, double duration, bool latency) {
  v1::StartTrafficRequest request;
  for (const FrameShare& frame : profile_.mix.frames) {
    v1::TrafficSource& source = *request.add_sources();
    source = profile_.to;
    source.set_name(NameOf(frame));
    source.set_bytes(frame.bytes);
    source.set_process(v1::TrafficSource::CONSTANT);
    source.set_packets_per_second(frame.share * load);
    source.set_packets(load == 0 ? 0 : FramesOfTrial(frame, load, duration));
    source.set_latency(latency);
  }
  v1::StartTrafficResponse response;
  return Call(traffic_.get(), &v1::Traffic::Stub::Start, request, &response, common_);
}

absl::Status FabricTrials::Stop() {
  v1::StopTrafficRequest request;
  for (const FrameShare& frame : profile_.mix.frames) request.add_names(NameOf(frame));
  v1::StopTrafficResponse response;
  return Call(traffic_.get(), &v1::Traffic::Stub::Stop, request, &response, common_);
}

absl::StatusOr<v1::ListTrafficResponse> FabricTrials::List(bool histogram) {
  v1::ListTrafficRequest request;
  request.set_histogram(histogram);
  v1::ListTrafficResponse list;
  const absl::Status status =
      Call(traffic_.get(), &v1::Traffic::Stub::List, request, &list, common_);
  if (!status.ok()) return status;
  return list;
}

absl::StatusOr<v1::Counters> FabricTrials::Read() {
  v1::GetCountersRequest request;
  request.mutable_filter()->set_summary(true);
  v1::Counters counters;
  const absl::Status status =
      Call(telemetry_.get(), &v1::Telemetry::Stub::GetCounters, request, &counters, common_);
  if (!status.ok()) return status;
  return counters;
}

// Reads until nothing is inside the fabric, or `waits` no longer says to read again.
absl::StatusOr<v1::Counters> FabricTrials::ReadUntilEmpty(const InsideWaits& waits) {
  const TrialClock::time_point begin = TrialClock::now();
  while (true) {
    auto counters = Read();
    if (!counters.ok()) return counters;
    const uint64_t inside = counters->conservation().in_flight();
    if (inside == 0 || !waits(inside, TrialSeconds(TrialClock::now() - begin))) return counters;
    if (absl::Status status = Wait(kBetweenLooks); !status.ok()) return status;
  }
}

absl::StatusOr<v1::Counters> FabricTrials::ReadAfterResidual() {
  return ReadUntilEmpty([](uint64_t, TrialSeconds waited) { return waited < kResidualFrames; });
}

// Hosts that send keep packets in the fabric, so the count may never reach 0.
absl::StatusOr<v1::Counters> FabricTrials::ReadOnceDrained() {
  uint64_t fewest = std::numeric_limits<uint64_t>::max();
  TrialSeconds fell{0};
  TrialSeconds last{0};
  auto counters = ReadUntilEmpty([&](uint64_t inside, TrialSeconds waited) {
    if (inside < fewest) fell = waited;
    fewest = std::min(fewest, inside);
    last = waited;
    return waited - fell <= kResidualFrames && waited <= kMostDraining;
  });
  if (!counters.ok() || last <= kMostDraining) return counters;
  return absl::FailedPreconditionError(absl::StrCat(
      counters->conservation().in_flight(), " frames are still inside the fabric after ",
      kMostDraining.count(),
      " s, so the next trial would measure them; give its links a queue_limit, or keep the load "
      "down with --most"));
}

// The frames that arrive last are the late ones, so the latencies are read after them. Stopping the
// sources would end the recording.
absl::StatusOr<v1::LatencyReport> FabricTrials::LatencyOfAll() {
  if (const auto empty = ReadAfterResidual(); !empty.ok()) return empty.status();
  const auto list = List(true);
  if (!list.ok()) return list.status();
  return list->latency();
}

// Seconds after the start of a trial. Frames that are sent later are lost.
double FabricTrials::GiveUp(double load, double duration) const {
  return SecondsToSend(profile_.mix, load, duration) + std::max(kShortestGrace, kGrace * duration);
}

// Starts the sources and looks at them until they have sent everything or are too late.
absl::StatusOr<FabricTrials::Sent> FabricTrials::Send(double load, double duration, bool latency) {
  if (absl::Status status = Start(load, duration, latency); !status.ok()) return status;
  if (absl::Status status = Wait(TrialSeconds(duration)); !status.ok()) return status;
  const double give_up = GiveUp(load, duration);
  FramesSent before;
  while (true) {
    auto list = List();
    if (!list.ok()) return list.status();
    const FramesSent now = SentIn(*list);
    if (HaveFinished(*list) || now.seconds > give_up) {
      return Sent{.list = *std::move(list), .in_time = FramesInTime(before, now, give_up)};
    }
    before = now;
    if (absl::Status status = Wait(kBetweenLooks); !status.ok()) return status;
  }
}

absl::Status FabricTrials::CheckAlone() {
  const auto list = List();
  if (!list.ok()) return list.status();
  // What a finished source has sent is not counted, unless its name is that of a trial's source.
  const auto in_the_way =
      std::find_if(list->sources().begin(), list->sources().end(),
                   [](const auto& status) { return !status.finished() || IsOfTrial(status); });
  if (in_the_way == list->sources().end()) return absl::OkStatus();
  const std::string& name = in_the_way->source().name();
  return absl::FailedPreconditionError(
      absl::StrCat("sources run on the fabric already, such as ", name.empty() ? "one" : name,
                   name.empty() ? " without a name" : "",
                   ": a trial would count their frames; stop them with bfly traffic stop"));
}

absl::Status FabricTrials::CheckTaken() {
  if (absl::Status status = CheckAlone(); !status.ok()) return status;
  const absl::Status status = Start(/*load=*/1, /*duration=*/0.001, /*latency=*/false);
  if (status.ok()) return Stop();
  if (!absl::StrContains(status.message(), ".bytes")) return status;
  return {status.code(), absl::StrCat("--bytes ", profile_.mix.name, ": ", status.message())};
}

absl::StatusOr<double> FabricTrials::UnpacedLoad(double seconds) {
  const auto measure = [&]() -> absl::StatusOr<v1::ListTrafficResponse> {
    if (absl::Status status = Start(0, seconds, false); !status.ok()) return status;
    if (absl::Status status = Wait(TrialSeconds(seconds)); !status.ok()) return status;
    return List();
  };
  const absl::StatusOr<v1::ListTrafficResponse> list = measure();
  const absl::Status stopped = Stop();
  if (!list.ok()) return list.status();
  if (!stopped.ok()) return stopped;
  const FramesSent sent = SentIn(*list);
  if (sent.frames == 0) {
    return absl::FailedPreconditionError(
        "the sources sent nothing: with --to circuit the sending rows need circuits");
  }
  return static_cast<double>(sent.frames) / sent.seconds / profile_.senders;
}

absl::StatusOr<TrialOutcome> FabricTrials::Run(double load, double duration, bool latency) {
  const auto before = ReadOnceDrained();
  if (!before.ok()) return before.status();
  const auto sent = Send(load, duration, latency);
  absl::StatusOr<v1::LatencyReport> recorded = v1::LatencyReport();
  if (latency && sent.ok()) recorded = LatencyOfAll();
  const absl::Status stopped = Stop();
  if (!sent.ok()) return sent.status();
  if (!recorded.ok()) return recorded.status();
  if (!stopped.ok()) return stopped;
  const auto after = ReadAfterResidual();
  if (!after.ok()) return after.status();

  TrialOutcome outcome{.trial = {.load = load, .duration = duration}};
  for (const FrameShare& frame : profile_.mix.frames) {
    outcome.intended += profile_.senders * FramesOfTrial(frame, load, duration);
  }
  for (const v1::TrafficSourceStatus& status : sent->list.sources()) {
    if (!IsOfTrial(status) || status.no_circuit() == 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(status.no_circuit(),
                     " frames were not sent, because their row has no circuit; set up "
                     "circuits first, or name another destination with --to"));
  }
  outcome.sent = std::min(sent->in_time, outcome.intended);
  outcome.reasons = DropsOf(*before, *after);
  for (const auto& [reason, frames] : outcome.reasons) outcome.dropped += frames;
  const uint64_t inside_before = before->conservation().in_flight();
  outcome.left = after->conservation().in_flight();
  outcome.left -= std::min(outcome.left, inside_before);
  const uint64_t injected = after->conservation().injected() - before->conservation().injected();
  outcome.others = injected > outcome.intended ? injected - outcome.intended : 0;
  const uint64_t lost =
      std::min(outcome.intended, outcome.intended - outcome.sent + outcome.dropped + outcome.left);
  outcome.trial.loss_ratio = static_cast<double>(lost) / static_cast<double>(outcome.intended);
  outcome.latency = recorded->end_to_end();
  outcome.histogram = {recorded->histogram().begin(), recorded->histogram().end()};
  return outcome;
}

}  // namespace bfly::control
