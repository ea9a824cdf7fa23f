// SPDX-License-Identifier: Apache-2.0
// bfly trace: the hops of one frame, with the time of each.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/cli/capture_stream.h"
#include "control/cli/capture_words.h"
#include "control/cli/journeys.h"
#include "control/cli/terminal.h"
#include "control/cli/verb.h"

namespace bfly::control {
namespace {

constexpr uint32_t kTraceSeconds = 60;
constexpr uint32_t kTraceSnaplen = 128;
constexpr size_t kMostFollowed = 64;
constexpr uint64_t kMostTraced = 10'000;

struct TraceOptions {
  std::vector<std::string> pair;
  uint64_t count = 1;
  uint32_t seconds = kTraceSeconds;
};

double Us(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

void PrintJourney(const Journey& journey) {
  const v1::CapturedFrame& frame = journey.first;
  printf("%u -> %u, %u bytes", frame.input(), frame.output(), frame.length());
  if (frame.circuit() != 0) printf(", circuit %" PRIu64, frame.circuit());
  printf("\n%4s  %-16s %14s %14s %12s\n", "hop", "at", "after us", "took us", "late us");
  uint64_t before = 0;
  const auto line = [&](const std::string& hop, const std::string& at,
                        const v1::CapturedFrame& copy) {
    printf("%4s  %-16s %14.3f %14.3f %12.3f\n", hop.c_str(), at.c_str(), Us(copy.age_ns()),
           Us(copy.age_ns() - std::min(before, copy.age_ns())), Us(copy.late_ns()));
    before = copy.age_ns();
  };
  for (const auto& [hop, copy] : journey.hops) line(absl::StrCat(hop), InterfaceOf(copy), copy);
  if (journey.has_left) {
    const std::string port = journey.left.port();
    line("", port.empty() ? "sink" : port + " out", journey.left);
  }
  if (journey.is_dropped) line("", "dropped", journey.left);
}

nlohmann::ordered_json JourneyJson(const Journey& journey) {
  const v1::CapturedFrame& frame = journey.first;
  nlohmann::ordered_json out = {
      {"input", frame.input()},           {"output", frame.output()},
      {"circuit", frame.circuit()},       {"bytes", frame.length()},
      {"entered_ns", journey.entered_ns}, {"hops", nlohmann::ordered_json::array()}};
  uint64_t before = 0;
  const auto times = [&before](const v1::CapturedFrame& copy) {
    nlohmann::ordered_json json = {{"after_ns", copy.age_ns()},
                                   {"took_ns", copy.age_ns() - std::min(before, copy.age_ns())},
                                   {"late_ns", copy.late_ns()}};
    before = copy.age_ns();
    return json;
  };
  for (const auto& [hop, copy] : journey.hops) {
    nlohmann::ordered_json json = {{"hop", hop},
                                   {"stage", copy.link().stage()},
                                   {"row", copy.link().row()},
                                   {"port", copy.link().port()}};
    json.update(times(copy));
    out["hops"].push_back(std::move(json));
  }
  if (journey.has_left) {
    out["left"] = {{"port", journey.left.port()}};
    out["left"].update(times(journey.left));
  }
  if (journey.is_dropped) {
    out["dropped"] = {{"reason", "no_port_at_row"}};
    out["dropped"].update(times(journey.left));
  }
  return out;
}

void Print(const std::vector<Journey>& journeys, const Common& common) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Journey& journey : journeys) {
    if (common.json) {
      all.push_back(JourneyJson(journey));
    } else {
      PrintJourney(journey);
    }
  }
  if (common.json) printf("%s\n", all.dump(1).c_str());
}

// The row where frames enter, and the row where they leave.
using EndRows = std::pair<uint32_t, uint32_t>;

std::string FromTo(const EndRows& rows) {
  return absl::StrCat(" from row ", rows.first, " to row ", rows.second);
}

// Some frames were followed to their end and left, but fewer than `wanted`.
absl::Status TooFew(const Journeys& journeys, uint64_t wanted, const EndRows& rows,
                    bool interrupted) {
  const uint64_t left = journeys.complete().size();
  std::string text = absl::StrCat(left, " of ", wanted, " frames went", FromTo(rows));
  // If the others were dropped, the command has not waited any longer.
  if (journeys.ended() < wanted) text += interrupted ? " before the interrupt" : " in the time";
  const uint64_t dropped = std::min<uint64_t>(journeys.dropped().size(), wanted - left);
  if (dropped > 0) {
    absl::StrAppend(&text, "; ", dropped, dropped == 1 ? " was" : " were",
                    " dropped there as no_port_at_row");
  }
  return journeys.ended() < wanted ? absl::DeadlineExceededError(text) : absl::NotFoundError(text);
}

// No frame left. Prints the first one that came far enough.
absl::Status NoneLeft(const Journeys& journeys, const EndRows& rows, bool interrupted,
                      const absl::Status& status, const Common& common) {
  const std::vector<Journey>& dropped = journeys.dropped();
  const std::vector<Journey> begun = journeys.begun();
  const std::vector<Journey>& seen = dropped.empty() ? begun : dropped;
  if (!seen.empty()) Print({seen.front()}, common);
  if (!status.ok()) return status;
  if (seen.empty() && journeys.open().empty()) {
    return absl::DeadlineExceededError(
        absl::StrCat("no frame went", FromTo(rows),
                     interrupted ? " before the interrupt"
                                 : " in the time; send one, or wait longer with --seconds"));
  }
  if (seen.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "frames", FromTo(rows),
        " were seen, and none of them at the first link of the path that is followed; frames that "
        "go by an intermediate row (--late vlb) are not followed"));
  }
  if (seen.front().is_dropped) {
    return absl::NotFoundError(absl::StrCat("row ", rows.second,
                                            " has no port, so frames of hosts are dropped there as "
                                            "no_port_at_row; the table has the hops of the first"));
  }
  return absl::NotFoundError(
      begun.size() == 1
          ? "one frame was seen, but not to its end; the table has the hops that it made"
          : absl::StrCat(begun.size(),
                         " frames were seen, and none of them to its end; the table has the hops "
                         "of the first"));
}

absl::Status Trace(const TraceOptions& options, const Common& common) {
  const auto pair = RowPairOf(options.pair);
  if (!pair.ok()) return pair.status();
  v1::CaptureRequest request;
  v1::CapturePath& path = *request.add_paths();
  path.set_input(pair->first);
  path.set_output(pair->second);
  path.set_end(true);
  request.set_snaplen(kTraceSnaplen);
  request.set_max_seconds(options.seconds);
  Journeys journeys(kMostFollowed);
  bool interrupted = false;
  const auto take = [&](const v1::CaptureBatch& batch) {
    if (batch.began()) {
      journeys.SetHops(batch.hops());
      fprintf(stderr, "waiting for a frame\n");
    }
    for (const v1::CapturedFrame& frame : batch.frames()) journeys.Add(frame, batch.data_plane());
    return journeys.ended() < options.count;
  };
  SignalReader signals;  // before gRPC starts threads
  const absl::Status status = ReadCapture(request, common, signals, take, &interrupted);
  std::vector<Journey> shown = journeys.complete();
  if (shown.empty()) return NoneLeft(journeys, *pair, interrupted, status, common);
  if (shown.size() > options.count) shown.resize(options.count);
  Print(shown, common);
  if (shown.size() == options.count || !status.ok()) return status;
  return TooFew(journeys, options.count, *pair, interrupted);
}

}  // namespace

void AddTrace(CLI::App& app, Invocation& invocation) {
  CLI::App* verb = NewVerb(app, invocation, "trace",
                           "Follow the next frame of two rows, and show the time of every hop",
                           "bfly trace '3 -> 6'\n"
                           "  bfly trace 3 6 --count 10 --json");
  auto options = std::make_shared<TraceOptions>();
  verb->add_option("rows", options->pair, "Where frames enter and leave: '3 -> 6' or 3 6")
      ->required()
      ->type_name("SRC DST");
  verb->add_option("--count", options->count, "Follow this many frames")
      ->check(CLI::Range(uint64_t{1}, kMostTraced))
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds, "Wait this long for them")
      ->check(CLI::Range(1u, 86'400u))
      ->capture_default_str();
  verb->callback([&invocation, options] {
    const absl::Status status = RowPairOf(options->pair).status();
    if (!status.ok()) throw CLI::ValidationError("rows", std::string(status.message()));
    invocation.action = [common = invocation.common, options] { return Trace(*options, common); };
  });
}

}  // namespace bfly::control
