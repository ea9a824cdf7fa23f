// SPDX-License-Identifier: Apache-2.0
// bfly bench start: how long `bfly up` takes until the first frame comes through the fabric, and
// how much memory the fabric then has.
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/telemetry.grpc.pb.h"
#include "control/cli/bench_report.h"
#include "control/cli/client.h"
#include "control/cli/fleet.h"
#include "control/cli/process_cost.h"
#include "control/cli/served_fabric.h"
#include "control/cli/tap_pair.h"
#include "control/cli/text.h"
#include "control/server/address.h"
#include "dataplane/bench/bench_frames.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/frames/mac_address.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/elapsed.h"

namespace bfly::control {
namespace {

using dataplane::RunStatistics;
using dataplane::StatisticsOf;
using dataplane::StatisticsOver;
using StartClock = std::chrono::steady_clock;

constexpr uint32_t kLeastRows = 2;  // of the fabric that the other is compared with
constexpr std::chrono::milliseconds kFrameStep{1};
constexpr double kPatienceSeconds = 60;
constexpr int kUpLogLines = 20;
constexpr char kPayload[] = "bfly bench start";
constexpr size_t kFrameBytes = 64;
constexpr dataplane::MacAddress kHostMac = 0x020000000001;
constexpr uint16_t kExperimentalType = 0x88b6;  // IEEE 802 local experimental 2

struct StartBenchOptions {
  uint32_t rows = 1024;
  int runs = 5;
};

// One start of a fabric.
struct FabricStart {
  double up = 0;           // seconds until `bfly up` came back
  double first_frame = 0;  // seconds until a frame came out at the last row
  ProcessMemory controller, data_plane;
  ProcessMemory controller_in_use, data_plane_in_use;  // after a picture of all links was read
  uint64_t links = 0;
  std::string memory;  // where DPDK's memory lies
};

struct StartBenchResult {
  std::vector<FabricStart> starts, of_two_rows;
};

// Half of the stages on the first usable CPU, half on the last; a port at the first row and one at
// the last.
std::string TopologyText(uint32_t rows) {
  const int stages = StagesOfTwoFold(rows);
  return absl::StrCat("name: bench-start\nnetwork: {kind: two_fold_butterfly, rows: ", rows,
                      ", seed: 1}\nplacement:\n  - {stages: 0-", stages / 2 - 1,
                      ", lcore: ", dataplane::UsableCpus().front(), "}\n  - {stages: ", stages / 2,
                      "-", stages - 1, ", lcore: ", dataplane::UsableCpus().back(),
                      "}\nports:\n  - {name: h0, device: \"net_af_xdp,iface=", TapPair::kNames[0],
                      "\", rows: 0}\n  - {name: h1, device: \"net_af_xdp,iface=",
                      TapPair::kNames[1], "\", rows: ", rows - 1, "}\n");
}

// A frame from a host to a row.
std::string FrameTo(Row row) {
  std::string frame(kFrameBytes, '\0');
  auto* const bytes = reinterpret_cast<uint8_t*>(frame.data());
  dataplane::StoreMac(bytes, dataplane::RowMac(row));
  dataplane::StoreMac(bytes + 6, kHostMac);
  dataplane::StoreBe16(bytes + 12, kExperimentalType);
  frame.replace(dataplane::kEthernetBytes, sizeof(kPayload) - 1, kPayload);
  return frame;
}

class StartBench {
 public:
  StartBench(const StartBenchOptions& options, TapPair& taps, SignalReader& signals)
      : options_(options), taps_(taps), signals_(signals) {}

  absl::StatusOr<StartBenchResult> Run() {
    StartBenchResult result;
    for (int run = 0; run < options_.runs; ++run) {
      for (const uint32_t rows : {options_.rows, kLeastRows}) {
        const absl::StatusOr<FabricStart> start = StartOnce(rows);
        if (!start.ok()) return start.status();
        (rows == options_.rows ? result.starts : result.of_two_rows).push_back(*start);
      }
    }
    return result;
  }

 private:
  absl::StatusOr<FabricStart> StartOnce(uint32_t rows) {
    const dataplane::BenchDirectory directory;
    if (absl::Status status = directory.made(); !status.ok()) return status;
    const std::string file = directory.path() + "/topology.yaml";
    std::ofstream(file) << TopologyText(rows);
    Common common;
    common.run_dir = directory.path() + "/run";
    Fleet fleet(common.run_dir);
    absl::StatusOr<FabricStart> start =
        UntilFirstFrame(rows, {.run_dir = directory.path(), .name = "up"},
                        {SiblingProgram("bfly"), "up", file, "--run-dir", common.run_dir});
    if (start.ok()) {
      if (absl::Status status = ReadMemory(fleet, common, *start); !status.ok()) start = status;
    }
    fleet.Stop(/*keep_logs=*/false);
    return start;
  }

  // `up` are the files of the process that starts the fabric by `command`.
  absl::StatusOr<FabricStart> UntilFirstFrame(uint32_t rows, const DaemonFiles& up,
                                              std::vector<std::string> command) {
    const std::string frame = FrameTo(rows - 1);
    FabricStart start;
    const StartClock::time_point began = StartClock::now();
    const absl::StatusOr<pid_t> pid =
        StartDaemon(up, {.command = std::move(command), .network_namespace = ""});
    if (!pid.ok()) return pid.status();
    bool came_back = false, came_through = false;
    std::string got;
    while (!came_back || !came_through) {
      if (!came_through) taps_.Send(0, frame);
      if (taps_.Receive(1, kFrameStep, &got) && absl::StrContains(got, kPayload) && !came_through) {
        came_through = true;
        start.first_frame = dataplane::SecondsSince(began);
      }
      if (!came_back && RunningDaemon(up) != *pid) {
        came_back = true;
        start.up = dataplane::SecondsSince(began);
      }
      absl::Status status;
      if (Interrupted(signals_)) status = absl::CancelledError("interrupted");
      if (dataplane::SecondsSince(began) > kPatienceSeconds) {
        status = absl::DeadlineExceededError(absl::StrCat("no frame came through the fabric in ",
                                                          kPatienceSeconds, " s; `bfly up` wrote\n",
                                                          LogTail(up, kUpLogLines)));
      } else if (came_back && !Serves(up)) {
        status = absl::FailedPreconditionError(
            absl::StrCat("`bfly up` failed:\n", LogTail(up, kUpLogLines)));
      }
      if (!status.ok()) {
        StopDaemon(up, std::chrono::seconds(5));
        return status;
      }
    }
    return start;
  }

  static bool Serves(const DaemonFiles& up) {
    return SomebodyAnswers(
        DaemonFiles{.run_dir = up.run_dir + "/run", .name = kControllerName}.socket());
  }

  static absl::Status ReadMemory(const Fleet& fleet, const Common& common, FabricStart& start) {
    start.controller = MemoryOf(fleet.pid(kControllerName));
    start.data_plane = MemoryOf(fleet.pid("dp0"));
    const auto fabric = v1::Fabric::NewStub(Connect(common));
    v1::StatusResponse answer;
    absl::Status status =
        Call(fabric.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &answer, common);
    if (!status.ok()) return status;
    if (answer.status().data_planes_size() > 0)
      start.memory = answer.status().data_planes(0).memory();
    const auto telemetry = v1::Telemetry::NewStub(Connect(common));
    grpc::ClientContext context;
    v1::SubscribeRequest request;
    request.set_mode(v1::SubscribeRequest::SAMPLE);
    request.set_interval_ms(10);
    const auto pictures = telemetry->Subscribe(&context, request);
    v1::Counters picture;
    const bool came = pictures->Read(&picture);
    start.links = static_cast<uint64_t>(picture.links_size());
    context.TryCancel();
    const grpc::Status ended = pictures->Finish();
    if (!came) return Explain(ended, common);
    start.controller_in_use = MemoryOf(fleet.pid(kControllerName));
    start.data_plane_in_use = MemoryOf(fleet.pid("dp0"));
    return absl::OkStatus();
  }

  const StartBenchOptions options_;
  TapPair& taps_;
  SignalReader& signals_;
};

double UpSeconds(const FabricStart& start) { return start.up; }
double FirstFrame(const FabricStart& start) { return start.first_frame; }
uint64_t ControllerBytes(const FabricStart& start) {
  return start.controller.without_frame_buffers();
}
uint64_t DataPlaneBytes(const FabricStart& start) {
  return start.data_plane.without_frame_buffers();
}
uint64_t FrameBufferBytes(const FabricStart& start) { return start.data_plane.frame_buffers; }
uint64_t BothBytes(const FabricStart& start) {
  return ControllerBytes(start) + DataPlaneBytes(start);
}
uint64_t BothInUse(const FabricStart& start) {
  return start.controller_in_use.without_frame_buffers() +
         start.data_plane_in_use.without_frame_buffers();
}

RunStatistics OverTwoRows(const StartBenchResult& result) {
  std::vector<double> ratios;
  for (size_t i = 0; i < result.starts.size(); ++i)
    ratios.push_back(result.starts[i].first_frame / result.of_two_rows[i].first_frame);
  return StatisticsOf(std::move(ratios));
}

std::string SecondsText(const RunStatistics& runs) {
  return absl::StrFormat("%.2f s (%.2f to %.2f)", runs.median, runs.lowest, runs.highest);
}

std::string MebibytesText(const RunStatistics& bytes) {
  constexpr double kMebibyte = 1 << 20;
  return absl::StrFormat("%.1f MiB (%.1f to %.1f)", bytes.median / kMebibyte,
                         bytes.lowest / kMebibyte, bytes.highest / kMebibyte);
}

void PrintStartJson(const StartBenchOptions& options, const StartBenchResult& result) {
  const std::vector<FabricStart>& starts = result.starts;
  const nlohmann::ordered_json out = {
      {"rows", options.rows},
      {"stages", StagesOfTwoFold(options.rows)},
      {"links", starts.front().links},
      {"runs", options.runs},
      {"first_frame_seconds", StatisticsOver(starts, FirstFrame).median},
      {"memory_bytes", StatisticsOver(starts, BothBytes).median},
      {"up_seconds_spread", SpreadJson(StatisticsOver(starts, UpSeconds))},
      {"first_frame_seconds_spread", SpreadJson(StatisticsOver(starts, FirstFrame))},
      {"two_rows_first_frame_seconds", SpreadJson(StatisticsOver(result.of_two_rows, FirstFrame))},
      {"ratio", SpreadJson(OverTwoRows(result))},
      {"controller_bytes", SpreadJson(StatisticsOver(starts, ControllerBytes))},
      {"data_plane_bytes", SpreadJson(StatisticsOver(starts, DataPlaneBytes))},
      {"frame_buffer_bytes", SpreadJson(StatisticsOver(starts, FrameBufferBytes))},
      {"memory_bytes_after_picture", SpreadJson(StatisticsOver(starts, BothInUse))},
      {"two_rows_memory_bytes", SpreadJson(StatisticsOver(result.of_two_rows, BothBytes))},
      {"memory", starts.front().memory},
      {"machine", ProcessorName()},
      {"compiler", BFLY_COMPILER}};
  printf("%s\n", out.dump(2).c_str());
}

void PrintStartText(const StartBenchOptions& options, const StartBenchResult& result) {
  const std::vector<FabricStart>& starts = result.starts;
  printf(
      "bfly up, two-fold butterfly of %u rows, %d stages, %lu links, two AF_XDP ports; %d runs, in "
      "turn with a fabric of %u rows\n",
      options.rows, StagesOfTwoFold(options.rows), static_cast<unsigned long>(starts.front().links),
      options.runs, kLeastRows);
  printf("  first frame through   %s; of %u rows %s, ratio %.2f\n",
         SecondsText(StatisticsOver(starts, FirstFrame)).c_str(), kLeastRows,
         SecondsText(StatisticsOver(result.of_two_rows, FirstFrame)).c_str(),
         OverTwoRows(result).median);
  printf("  bfly up came back     %s\n", SecondsText(StatisticsOver(starts, UpSeconds)).c_str());
  printf("memory without the buffers of frames\n");
  printf("  controller            %s\n",
         MebibytesText(StatisticsOver(starts, ControllerBytes)).c_str());
  printf("  data plane            %s\n",
         MebibytesText(StatisticsOver(starts, DataPlaneBytes)).c_str());
  printf("  both                  %s; of %u rows %s\n",
         MebibytesText(StatisticsOver(starts, BothBytes)).c_str(), kLeastRows,
         MebibytesText(StatisticsOver(result.of_two_rows, BothBytes)).c_str());
  printf("  after a picture       %s\n", MebibytesText(StatisticsOver(starts, BothInUse)).c_str());
  printf("buffers of frames       %s; %s\n",
         MebibytesText(StatisticsOver(starts, FrameBufferBytes)).c_str(),
         starts.front().memory.c_str());
  printf("%s, %s\n", ProcessorName().c_str(), BFLY_COMPILER);
}

absl::Status BenchStart(const StartBenchOptions& options, const Common& common) {
  SignalReader signals;
  const absl::StatusOr<std::unique_ptr<TapPair>> taps = TapPair::Make();
  if (!taps.ok()) return taps.status();
  const absl::StatusOr<StartBenchResult> result = StartBench(options, **taps, signals).Run();
  if (!result.ok()) return result.status();
  if (common.json) {
    PrintStartJson(options, *result);
  } else {
    PrintStartText(options, *result);
  }
  return absl::OkStatus();
}

}  // namespace

void AddStartBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      bench, invocation, "start",
      "How long `bfly up` takes until the first frame comes through the fabric, from one AF_XDP "
      "port to another, and how much memory controller and data plane then have; beside it a "
      "fabric of two rows. The interfaces lie in a network namespace of its own",
      "sudo bfly bench start --rows 1024 --json");
  auto options = std::make_shared<StartBenchOptions>();
  verb->add_option("--rows", options->rows, "Rows of the two-fold butterfly, a power of two from 4")
      ->check(CLI::Range(4u, 1u << 14))
      ->capture_default_str();
  verb->add_option("--runs", options->runs, "Runs: the median is reported, with the spread")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      return BenchStart(*options, common);
    };
  });
}

}  // namespace bfly::control
