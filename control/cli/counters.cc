// SPDX-License-Identifier: Apache-2.0
// bfly counters: the counts of every link, port and worker, once or as a live drawing.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <utility>

#include "bfly/v1/telemetry.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/cli/watch.h"
#include "control/json/message_json.h"
#include "control/server/number_option.h"
#include "topologies/link_choice.h"

namespace bfly::control {
namespace {

struct CountersOptions {
  WatchOptions watch;
  std::vector<uint32_t> ports;
  bool watching = false;
  bool nonzero = false;
  uint32_t top = 0;
  std::string by;
};

// Links in a page.
constexpr uint32_t kLinksAtATime = 32'768;

std::map<std::string, v1::CounterFilter::Figure> Figures() {
  return {{"packets", v1::CounterFilter::PACKETS},
          {"bytes", v1::CounterFilter::BYTES},
          {"occupancy", v1::CounterFilter::OCCUPANCY},
          {"occupancy_peak", v1::CounterFilter::OCCUPANCY_PEAK},
          {"drops", v1::CounterFilter::DROPS},
          {"busy", v1::CounterFilter::BUSY}};
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, figure] : Figures()) names.push_back(name);
  return names;
}

std::string Drops(const google::protobuf::RepeatedPtrField<v1::DropCount>& drops) {
  std::string out;
  for (const v1::DropCount& drop : drops)
    if (drop.packets() > 0)
      out += (out.empty() ? "" : ", ") + drop.reason() + " " + std::to_string(drop.packets());
  return out;
}

// Prints what happened to frames at a port, or at all removed ports.
void PrintDrops(const v1::PortCounters& port) {
  if (const std::string drops = Drops(port.drops()); !drops.empty())
    printf("  drops: %s\n", drops.c_str());
  if (const std::string actions = Drops(port.xdp_actions()); !actions.empty())
    printf("  XDP program: %s\n", actions.c_str());
}

// Prints the pages of an answer one by one as one text. The first page also has everything that is
// not about links. At the end it names the data planes that any page missed too.
class Output {
 public:
  virtual ~Output() = default;
  virtual void Begin(const v1::Counters& first) = 0;
  virtual void Add(const v1::Counters& page) = 0;
  virtual void End(const v1::Counters& first) = 0;
};

class TableOutput final : public Output {
 public:
  explicit TableOutput(bool nonzero) : nonzero_(nonzero) {}
  void Begin(const v1::Counters&) override {
    printf("%5s %7s %4s %7s %8s %12s %14s %6s %6s  %s\n", "stage", "row", "port", "to row",
           "circuits", "packets", "bytes", "queued", "peak", "drops");
  }
  void Add(const v1::Counters& page) override {
    any_ = any_ || page.links_size() > 0;
    for (const v1::LinkCounters& link : page.links())
      printf("%5u %7u %4u %7u %8u %12" PRIu64 " %14" PRIu64 " %6u %6u  %s\n", link.stage(),
             link.row(), link.port(), link.next_row(), link.circuits(), link.packets(),
             link.bytes(), link.occupancy(), link.occupancy_peak(), Drops(link.drops()).c_str());
  }
  void End(const v1::Counters& first) override;

 private:
  const bool nonzero_;
  bool any_ = false;
};

// Prints JSON: the text of the first page, with the links of all pages in it.
class JsonOutput final : public Output {
 public:
  void Begin(const v1::Counters& first) override {
    const std::string text = TextOf(first);
    fwrite(text.data(), 1, BehindLinks(text), stdout);
  }
  void Add(const v1::Counters& page) override {
    std::string text;
    for (const v1::LinkCounters& link : page.links()) {
      text += any_ ? ",\n    " : "\n    ";
      any_ = true;
      AppendJson(link, 2, text);
      if (text.size() < kBuffer) continue;
      fwrite(text.data(), 1, text.size(), stdout);
      text.clear();
    }
    fwrite(text.data(), 1, text.size(), stdout);
  }
  void End(const v1::Counters& first) override {
    const std::string text = TextOf(first);
    printf("%s%s\n", any_ ? "\n  " : "", text.c_str() + BehindLinks(text));
  }

 private:
  static constexpr size_t kBuffer = 1 << 20;
  static std::string TextOf(const v1::Counters& counters) {
    std::string text;
    AppendJson(counters, 0, text);
    return text;
  }
  // Where the links stand in the text of counters without links.
  static size_t BehindLinks(const std::string& text) {
    static constexpr char kLinks[] = "\n  \"links\": [";
    return text.find(kLinks) + sizeof(kLinks) - 1;
  }

  bool any_ = false;
};

void TableOutput::End(const v1::Counters& counters) {
  if (!any_ && nonzero_) printf("(no link has a circuit or ever carried a packet)\n");
  for (const v1::PortCounters& port : counters.ports()) {
    printf("port %s: received %" PRIu64 " frames (%" PRIu64 " bytes), sent %" PRIu64
           " frames (%" PRIu64 " bytes), missed %" PRIu64 "\n",
           port.name().c_str(), port.rx_packets(), port.rx_bytes(), port.tx_packets(),
           port.tx_bytes(), port.rx_missed());
    for (int i = 0; port.queues_size() > 1 && i < port.queues_size(); ++i)
      printf("  queue pair %d: received %" PRIu64 ", sent %" PRIu64 "\n", i,
             port.queues(i).rx_packets(), port.queues(i).tx_packets());
    PrintDrops(port);
  }
  for (const v1::PortCounters& ports : counters.removed_ports()) {
    printf("removed ports of %s: received %" PRIu64 " frames (%" PRIu64 " bytes), sent %" PRIu64
           " frames (%" PRIu64 " bytes), missed %" PRIu64 "\n",
           ports.data_plane().c_str(), ports.rx_packets(), ports.rx_bytes(), ports.tx_packets(),
           ports.tx_bytes(), ports.rx_missed());
    PrintDrops(ports);
  }
  if (const std::string drops = Drops(counters.drops()); !drops.empty())
    printf("drops by reason: %s\n", drops.c_str());
  for (const std::string& problem : counters.problems()) printf("%s\n", problem.c_str());
  const v1::CircuitCounters& circuits = counters.circuits();
  if (circuits.asked() > 0 || circuits.broken() > 0) {
    printf("circuits: %" PRIu64 " stand, ", circuits.standing());
    if (circuits.broken() > 0) printf("%" PRIu64 " broken, ", circuits.broken());
    printf("%" PRIu64 " asked, %" PRIu64 " blocked (%.3g %%)\n", circuits.asked(),
           circuits.blocked(), 100 * circuits.blocking_ratio());
  }
  printf("%s\n", ConservationLine(counters.conservation()).c_str());
  if (Missed(counters) > 0) printf("%s\n", MissedLine(counters).c_str());
}

void AddTo(const std::vector<uint32_t>& numbers,
           google::protobuf::RepeatedPtrField<v1::NumberRange>* ranges) {
  std::vector<NumberRange> apart;
  for (const uint32_t number : numbers) apart.push_back({number, number});
  for (const NumberRange& range : MergeRanges(std::move(apart))) {
    v1::NumberRange* added = ranges->Add();
    added->set_first(range.first);
    added->set_last(range.last);
  }
}

// Adds the data planes that `page` is the first one to miss, and what `page` says of them.
void AddMissing(const v1::Counters& page, v1::Counters& first) {
  const auto add = [](const std::string& text,
                      google::protobuf::RepeatedPtrField<std::string>* to) {
    const bool is_new = std::find(to->begin(), to->end(), text) == to->end();
    if (is_new) *to->Add() = text;
    return is_new;
  };
  bool any = page.links_missing() && !first.links_missing();
  for (const std::string& plane : page.planes_missing())
    any |= add(plane, first.mutable_planes_missing());
  if (!any) return;
  first.set_links_missing(true);
  for (const std::string& problem : page.problems()) add(problem, first.mutable_problems());
}

absl::Status PrintPages(v1::GetCountersRequest request, const Common& common, Output& output) {
  auto stub = v1::Telemetry::NewStub(Connect(common));
  // An answer to `top` has one page only.
  if (request.filter().top() == 0) request.set_page_size(kLinksAtATime);
  v1::Counters first;
  bool more = true;
  for (bool begun = false; more; begun = true) {
    v1::Counters page;
    const absl::Status status =
        Call(stub.get(), &v1::Telemetry::Stub::GetCounters, request, &page, common);
    if (!status.ok()) return status;
    more = page.has_next_page_token();
    request.set_page_token(page.next_page_token());
    if (!begun) {
      first = page;
      first.clear_links();
      first.clear_next_page_token();
      output.Begin(first);
    } else {
      AddMissing(page, first);
    }
    output.Add(page);
    if (ferror(stdout) != 0) return absl::DataLossError("cannot write to standard output");
  }
  output.End(first);
  if (fflush(stdout) != 0) return absl::DataLossError("cannot write to standard output");
  return absl::OkStatus();
}

absl::Status Run(CountersOptions options, const Common& common) {
  v1::CounterFilter& filter = options.watch.filter;
  AddTo(options.watch.stages, filter.mutable_stage_ranges());
  AddTo(options.watch.rows, filter.mutable_row_ranges());
  filter.mutable_ports()->Assign(options.ports.begin(), options.ports.end());
  filter.set_nonzero(options.nonzero);
  filter.set_top(options.top);
  if (!options.by.empty()) filter.set_by(Figures().at(options.by));
  if (options.watching) {
    return Watch(options.watch, common);
  }
  v1::GetCountersRequest request;
  *request.mutable_filter() = filter;
  if (common.json) {
    JsonOutput json;
    return PrintPages(std::move(request), common, json);
  }
  TableOutput table(options.nonzero);
  return PrintPages(std::move(request), common, table);
}

}  // namespace

void AddCounters(CLI::App& app, Invocation& invocation) {
  CLI::App* verb = NewVerb(app, invocation, "counters",
                           "Show the counters of links, ports and the account of packets",
                           "bfly counters --watch\n  bfly counters --top 5\n"
                           "  bfly counters --json | jq .conservation");
  auto options = std::make_shared<CountersOptions>();
  CLI::Option* const watch = verb->add_flag(
      "--watch,-w", options->watching,
      "Draw the live congestion, a view of `bfly top`, until q or Ctrl-C; with --json, or "
      "where standard output is not a terminal: one line a picture");
  CLI::Option* const top =
      verb->add_option("--top", options->top,
                       "Only the K links with most circuits, then most packets; with --watch on a "
                       "terminal: the list of all links, those with most circuits first")
          ->check(CLI::Range(1u, 65536u))
          ->type_name("K");
  verb->add_option("--by", options->by,
                   "Choose the K links by this figure, instead of by circuits and then packets; "
                   "not with --watch")
      ->check(CLI::IsMember(Names()))
      ->needs(top)
      ->excludes(watch);
  verb->add_flag("--nonzero", options->nonzero,
                 "Leave out links that never carried anything and have no circuit; text of --watch "
                 "leaves them out anyway");
  AddRanges(*verb, "--stages", options->watch.stages, "Only links of these stages");
  AddRanges(*verb, "--rows", options->watch.rows, "Only links that leave these rows");
  AddRanges(*verb, "--ports", options->ports, "Only links that leave nodes by these ports");
  verb->add_option("--interval", options->watch.interval_ms,
                   "Time between two pictures; a plain number is milliseconds")
      ->transform(TimeInMilliseconds())
      ->check(CLI::Range(10u, 60000u))
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--seconds", options->watch.seconds,
                   "Stop watching after this time; a plain number is seconds, 0: never")
      ->transform(TimeInSeconds())
      ->check(NumberFrom(0.0, 1e9))
      ->capture_default_str()
      ->type_name("TIME");
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] { return Run(*options, common); };
  });
}

}  // namespace bfly::control
