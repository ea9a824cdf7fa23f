// SPDX-License-Identifier: Apache-2.0
// bfly events: what happened to the fabric, a line an event.
#include "control/cli/events.h"

#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "bfly/v1/events.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/signal_cancel.h"
#include "control/cli/text.h"
#include "control/events/event_record.h"

namespace bfly::control {
namespace {

struct EventsOptions {
  bool follow = false;
  uint64_t since = 0;
  std::string run;
  std::vector<std::string> kinds;
  std::string severity = "debug";
};

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const v1::Event::Kind kind : EventKinds()) names.push_back(KindName(kind));
  return names;
}

v1::WatchEventsRequest EventsRequestOf(const EventsOptions& options) {
  v1::WatchEventsRequest request;
  for (const std::string& name : options.kinds) {
    auto kind = v1::Event::KIND_UNSPECIFIED;  // the option takes known names only
    v1::Event::Kind_Parse(absl::AsciiStrToUpper(name), &kind);
    request.add_kinds(kind);
  }
  auto severity = v1::Event::SEVERITY_UNSPECIFIED;
  v1::Event::Severity_Parse(absl::AsciiStrToUpper(options.severity), &severity);
  request.set_severity(severity);
  request.set_since(options.since);
  request.set_run_id(options.run);
  request.set_past_only(!options.follow);
  return request;
}

// "2026-11-25 22:31:19.123", by the clock of this machine's place.
std::string TimeText(int64_t time_ns) {
  const time_t seconds = time_ns / 1'000'000'000;
  tm local{};
  localtime_r(&seconds, &local);
  return absl::StrFormat("%04d-%02d-%02d %02d:%02d:%02d.%03d", local.tm_year + 1900,
                         local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                         time_ns % 1'000'000'000 / 1'000'000);
}

void Print(const v1::Event& event) {
  if (event.missed() != 0) printf("%8s %" PRIu64 " events are missing here\n", "", event.missed());
  if (event.has_began()) return;
  printf("%8" PRIu64 " %s %-7s %s\n", event.sequence(), TimeText(event.time_ns()).c_str(),
         absl::AsciiStrToLower(v1::Event::Severity_Name(event.severity())).c_str(),
         event.text().c_str());
}

absl::Status WatchEvents(const EventsOptions& options, const Common& common) {
  grpc::ClientContext context;
  const SignalCancel signals(context);
  if (!signals.status().ok()) return signals.status();
  auto stub = v1::Events::NewStub(Connect(common));
  auto stream = stub->Watch(&context, EventsRequestOf(options));
  v1::Event event;
  absl::Status status;
  while (status.ok() && stream->Read(&event)) {
    if (common.json) {
      status = PrintJsonLine(event);
    } else {
      Print(event);
    }
    if (fflush(stdout) != 0) status = absl::DataLossError("cannot write to standard output");
  }
  if (!status.ok()) context.TryCancel();
  const grpc::Status end = stream->Finish();
  if (!status.ok() || signals.interrupted()) return status;
  return Explain(end, common);
}

}  // namespace

void AddEvents(CLI::App& app, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(app, invocation, "events",
              "Show what happened to the fabric: topologies, circuits, links, workers, "
              "ports, and so on",
              "bfly events\n"
              "  bfly events --follow --severity warning\n"
              "  bfly events --kind links --kind data_plane --json");
  auto options = std::make_shared<EventsOptions>();
  verb->add_flag("-f,--follow", options->follow, "Go on with new events until Ctrl-C");
  verb->add_option("--since", options->since, "Only events after the one with this number")
      ->type_name("NUMBER")
      ->capture_default_str();
  verb->add_option("--run", options->run,
                   "Run of the controller (run_id with --json) that gave the number: if it was "
                   "started again since, all events are shown")
      ->type_name("ID");
  verb->add_option("--kind", options->kinds,
                   "Only events of this kind; may be given more than once")
      ->check(CLI::IsMember(KindNames()))
      ->allow_extra_args(false);
  verb->add_option("--severity", options->severity, "Only events that are at least so urgent")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      return WatchEvents(*options, common);
    };
  });
}

}  // namespace bfly::control
