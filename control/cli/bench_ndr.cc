// SPDX-License-Identifier: Apache-2.0
// bfly bench ndr: the throughput of a running fabric, by loss ratio, and its latency below it.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/telemetry.grpc.pb.h"
#include "control/cli/bench_report.h"
#include "control/cli/client.h"
#include "control/cli/interruptible.h"
#include "control/cli/machine_facts.h"
#include "control/cli/ndr_report.h"
#include "control/cli/ndr_search.h"
#include "control/cli/ndr_trials.h"
#include "control/cli/output_file.h"
#include "control/cli/syntax.h"
#include "control/server/number_option.h"
#include "control/topology_file/ranges.h"
#include "topologies/traffic_pattern.h"

namespace bfly::control {
namespace {

std::vector<std::string> DestinationNames() {
  std::vector<std::string> names = TrafficPatternNames();
  // These need further options, and a search has enough of them.
  std::erase_if(names, [](const std::string& name) {
    return name == "permutation" || name == "hotspot" || name == "p-flip";
  });
  names.emplace_back("circuit");
  return names;
}

absl::StatusOr<TrafficProfile> ProfileOf(const NdrOptions& options, const std::string& size,
                                         uint32_t fabric_rows) {
  TrafficProfile profile;
  const absl::StatusOr<FrameMix> mix = FrameMixFromName(size);
  if (!mix.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--bytes: ", mix.status().message()));
  }
  profile.mix = *mix;
  std::string rows = options.rows;
  if (rows.empty()) {
    const uint32_t last = options.ways == "one" ? fabric_rows / 2 - 1 : fabric_rows - 1;
    rows = absl::StrCat("0-", last);
  }
  const auto numbers = ExpandRanges(rows, fabric_rows - 1, "row");
  if (!numbers.ok())
    return absl::InvalidArgumentError(absl::StrCat("--rows: ", numbers.status().message()));
  profile.senders = static_cast<uint32_t>(numbers->size());
  profile.to.set_rows(rows);
  profile.to.set_seed(options.seed);
  if (options.to == "circuit") {
    profile.to.set_destination(v1::TrafficSource::CIRCUIT);
  } else if (options.to == "uniform") {
    profile.to.set_destination(v1::TrafficSource::UNIFORM);
  } else {
    profile.to.set_destination(v1::TrafficSource::PATTERN);
    profile.to.set_pattern(options.to);
  }
  return profile;
}

std::string TrafficText(const NdrOptions& options) {
  return absl::StrCat(options.to, options.rows.empty() ? " (--ways " : " (--rows ",
                      options.rows.empty() ? options.ways : options.rows, ")");
}

// 64, 128, 256, 512, 1024, 1280 and 1518 with FCS. A source sends no frame of 60 bytes.
bool HasSizesOfRfc2544(const NdrOptions& options) {
  constexpr const char* kSizes[] = {"64", "124", "252", "508", "1020", "1276", "1514"};
  return std::all_of(std::begin(kSizes), std::end(kSizes), [&](const char* size) {
    return std::find(options.sizes.begin(), options.sizes.end(), size) != options.sizes.end();
  });
}

std::vector<std::string> DeviationsOf(const NdrOptions& options) {
  std::vector<std::string> deviations = {
      "Built-in sources and sinks send and count, on the workers of the fabric itself; no tester "
      "stands outside. The cores that forward also make the frames.",
      "These frames have a length and no bytes: no device, buffer or header is touched, and what "
      "sections 10, 11 and 12 of RFC 2544 ask (contents of received frames; broadcast, management "
      "and routing frames, filters; addresses) does not apply.",
      "A size is the Ethernet frame without its FCS; RFC 2544 counts the FCS, 4 bytes more. The "
      "smallest frame is 64 bytes, which RFC 2544 would call 68.",
      absl::StrFormat(
          "A source that is late sends later and drops nothing. Frames that are not "
          "sent %g s (or %g %% of a longer trial) after the last one was due are lost, "
          "so an overload below that part of the trial is not seen. A frame that is sent "
          "later than that and then dropped counts twice, so a loss ratio is an upper "
          "bound.",
          FabricTrials::kShortestGrace, 100 * FabricTrials::kGrace),
      "There are no learning frames and no pause of 5 s between trials; residual frames are "
      "awaited for 2 s at most, and the next trial begins once the fabric is empty."};
  deviations.push_back(absl::StrFormat(
      "Latency is that of every frame of one trial of %g s at each of 10, 50 and 90 %% of the NDR, "
      "from the moment the frame was due to its delivery. Frames that were not sent in time count "
      "as lost and have one too; frames that did not arrive have none. RFC 2544, section 26.2, "
      "tags one frame of a stream of 120 s at the throughput and repeats that 20 times.",
      options.final_duration));
  deviations.emplace_back(
      "A load is a rate of each sending row, not of an interface, and links without a rate have no "
      "maximum frame rate (RFC 2544, section 20).");
  deviations.emplace_back(
      "Only throughput and latency are measured: not frame loss rate by load, back-to-back frames, "
      "system recovery, reset (RFC 2544, sections 26.3 to 26.6) or bursts (section 21).");
  if (!HasSizesOfRfc2544(options)) {
    deviations.emplace_back(
        "Not all frame sizes of RFC 2544, section 9.1, are measured; "
        "--bytes 64,124,252,508,1020,1276,1514 are its sizes without FCS, but for the 64.");
  }
  if (options.final_duration < 60) {
    deviations.push_back(absl::StrFormat(
        "Full-length trials take %g s, not 60 s (RFC 2544, section 24).", options.final_duration));
  }
  if (options.exceed_ratio > 0)
    deviations.push_back("The exceed ratio is not 0, so the NDR is no RFC 2544 throughput.");
  return deviations;
}

std::vector<std::pair<std::string, std::string>> FabricFacts(const v1::FabricStatus& status,
                                                             const v1::Counters& counters) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"network",
       absl::StrCat(status.kind(), ", ", status.rows(), " rows, ", status.stages(), " stages")}};
  for (const v1::DataPlaneStatus& plane : status.data_planes()) {
    std::vector<std::string> workers;
    for (const v1::WorkerStatus& worker : plane.workers()) {
      workers.push_back(absl::StrCat(worker.lcore()));
    }
    facts.emplace_back("data_plane " + plane.name(),
                       absl::StrCat("workers on CPUs ", absl::StrJoin(workers, ", "), "; ",
                                    plane.memory(), "; ", plane.dpdk_version()));
  }
  for (const v1::PortCounters& port : counters.ports()) {
    facts.emplace_back(
        absl::StrCat("port ", port.name()),
        absl::StrCat("driver ", port.driver().empty() ? "unknown" : port.driver(),
                     port.queues().empty()
                         ? "; a trunk"
                         : absl::StrCat(", ", port.queues_size(), " queue pairs; not used")));
  }
  if (counters.ports().empty()) facts.emplace_back("ports", "none: no driver and no queues");
  return facts;
}

absl::Status NotWritten(const std::string& path, const absl::Status& why) {
  return {why.code(), absl::StrCat("--histogram ", path, ": cannot be written: ", why.message())};
}

absl::Status BenchNdr(const NdrOptions& options, const Common& common) {
  if (options.duration_sum > 0 && options.duration_sum < options.final_duration) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--duration-sum: %g s is less than one full-length trial, %g s "
                        "(--final-duration)",
                        options.duration_sum, options.final_duration));
  }
  if (options.initial_duration > options.final_duration) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--initial-duration: %g s is more than one full-length trial, %g s (--final-duration)",
        options.initial_duration, options.final_duration));
  }
  v1::StatusResponse answer;
  auto fabric = v1::Fabric::NewStub(Connect(common));
  absl::Status status =
      Call(fabric.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &answer, common);
  if (!status.ok()) return status;
  if (!answer.status().loaded())
    return absl::FailedPreconditionError("no fabric is loaded; bfly up FILE loads one");
  std::vector<TrafficProfile> profiles;
  for (const std::string& size : options.sizes) {
    const auto profile = ProfileOf(options, size, answer.status().rows());
    if (!profile.ok()) return profile.status();
    profiles.push_back(*profile);
  }
  v1::GetCountersRequest no_links;
  no_links.mutable_filter()->set_summary(true);
  v1::Counters counters;
  auto telemetry = v1::Telemetry::NewStub(Connect(common));
  status = Call(telemetry.get(), &v1::Telemetry::Stub::GetCounters, no_links, &counters, common);
  if (!status.ok()) return status;
  // A search takes minutes, so the file is tried before it. What an older file says stays until the
  // search is over.
  std::optional<OutputFile> histogram;
  if (!options.histogram.empty()) {
    auto opened = OutputFile::Open(options.histogram);
    if (!opened.ok()) return NotWritten(options.histogram, opened.status());
    histogram = *std::move(opened);
  }
  const Interruptible interruptible;
  for (const TrafficProfile& profile : profiles) {
    if (status = FabricTrials(common, profile).CheckTaken(); !status.ok()) return status;
  }
  absl::Status searched;  // the first error; results from before it are printed
  std::vector<SizeReport> reports;
  for (const TrafficProfile& profile : profiles) {
    auto report = SearchSize(options, profile, common);
    if (searched = report.status(); !searched.ok()) break;
    reports.push_back(*std::move(report));
    if (!common.json) PrintSize(reports.back(), TrafficText(options));
  }
  if (reports.empty()) return searched;
  std::vector<std::pair<std::string, std::string>> facts = FabricFacts(answer.status(), counters);
  for (auto& fact : MachineFacts()) facts.push_back(std::move(fact));
  const std::vector<std::string> deviations = DeviationsOf(options);
  if (common.json) {
    nlohmann::ordered_json out = {{"to", options.to}};
    if (options.rows.empty()) {
      out["ways"] = options.ways;
    } else {
      out["rows"] = options.rows;
    }
    out["complete"] = searched.ok();
    for (const SizeReport& report : reports) out["sizes"].push_back(SizeJson(report));
    out["deviations"] = deviations;
    for (const auto& [name, value] : facts) out["machine"][name] = value;
    printf("%s\n", out.dump(2).c_str());
  } else {
    printf("deviations from RFC 2544 and RFC 9971:\n");
    for (const std::string& deviation : deviations) printf("  - %s\n", deviation.c_str());
    for (const auto& [name, value] : facts) printf("%s: %s\n", name.c_str(), value.c_str());
  }
  if (histogram) {
    if (status = histogram->Write(HistogramCsv(reports)); !status.ok())
      return NotWritten(options.histogram, status);
  }
  return searched.ok() ? CheckRegular(reports) : searched;
}

}  // namespace

void AddNdrBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      bench, invocation, "ndr",
      "Search the throughput of the running fabric without loss (NDR) and with little (PDR)",
      "bfly bench ndr --bytes 64,imix\n"
      "  bfly bench ndr --ways one --final-duration 60s --json");
  TakesElectionId(verb, invocation);
  auto options = std::make_shared<NdrOptions>();
  verb->add_option("--bytes", options->sizes, "Frame sizes, 64 to 9018, or imix; one search each")
      ->delimiter(',')
      ->capture_default_str()
      ->type_name("SIZE,SIZE...");
  CLI::Option* ways =
      verb->add_option("--ways", options->ways,
                       "both: all rows send; one: the lower half, to the upper with bitcomp")
          ->check(CLI::IsMember(std::vector<std::string>{"one", "both"}))
          ->capture_default_str();
  verb->add_option("--rows", options->rows, "Input rows that send, such as 4-15")
      ->excludes(ways)
      ->type_name("RANGES");
  verb->add_option("--to", options->to, "Where to: " + absl::StrJoin(DestinationNames(), ", "))
      ->check(CLI::IsMember(DestinationNames()))
      ->capture_default_str()
      ->type_name("PATTERN");
  verb->add_option("--initial-duration", options->initial_duration, "Of the shortest trials")
      ->transform(TimeInSeconds())
      ->check(NumberFrom(0.001, 86400.0))
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--final-duration", options->final_duration,
                   "Of the trials that count; 60s is RFC 2544's")
      ->transform(TimeInSeconds())
      ->check(NumberFrom(0.001, 86400.0))
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--duration-sum", options->duration_sum,
                   "Time of trials that decides about a load; left out: one trial")
      ->transform(TimeInSeconds())
      ->check(NumberFrom(0.001, 86400.0))
      ->type_name("TIME");
  verb->add_option("--loss-ratio", options->loss_ratio, "Part of the frames that PDR may lose")
      ->check(NumberFrom(0.0, 0.99))
      ->capture_default_str();
  verb->add_option("--exceed-ratio", options->exceed_ratio,
                   "Part of the time at a load whose trials may lose more")
      ->check(NumberFrom(0.0, 0.99))
      ->capture_default_str();
  verb->add_option("--width", options->width, "Relative distance of the bounds that is enough")
      ->check(NumberFrom(0.0001, 0.5))
      ->capture_default_str();
  verb->add_option("--most", options->most,
                   "Largest load, in frames a second of each sending row; left out: 1.25 times "
                   "what the sources send unpaced")
      ->transform(RatePerSecond())
      ->check(NumberFrom(1.0, 1e9))
      ->type_name("RATE");
  verb->add_option("--histogram", options->histogram,
                   "Write the latency histograms at 10, 50 and 90 % of NDR here, as CSV")
      ->type_name("FILE");
  verb->add_option("--seed", options->seed, "Seed of random destinations")->capture_default_str();
  verb->callback([&invocation, options, verb] {
    if (verb->count("--initial-duration") == 0)
      options->initial_duration = std::min(options->initial_duration, options->final_duration);
    invocation.action = [common = invocation.common, options] {
      return BenchNdr(*options, common);
    };
  });
}

}  // namespace bfly::control
