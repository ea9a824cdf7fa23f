// SPDX-License-Identifier: Apache-2.0
// bfly circuit schedule: circuits on a clock.
#include "control/cli/schedule.h"

#include <cinttypes>
#include <cstdio>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bfly/v1/schedules.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/text.h"
#include "control/intent/slot_paths.h"
#include "control/topology_file/planned_faults.h"
#include "control/topology_file/ranges.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/schedule_file.h"
#include "control/topology_file/to_fabric_config.h"

namespace bfly::control {
namespace {

constexpr int kSlotsShown = 32;

struct ScheduleOptions {
  std::string what;
  std::string slot, guard, protocol, late;
  std::optional<uint64_t> seed;
  uint32_t queue = 0, waiting = 0;
  bool replace = false, dry_run = false;
  std::string network;
};

// "812 ns", "43.1 us", "7.25 ms", "1.5 s", "1270 s".
std::string InUnits(double nanoseconds) {
  double value = nanoseconds;
  const char* unit = "ns";
  for (const char* larger : {"us", "ms", "s"}) {
    if (value < 999.5) break;  // with three digits it stays below 1000
    value /= 1000;
    unit = larger;
  }
  if (value >= 999.5) return absl::StrFormat("%.0f %s", value, unit);
  return absl::StrFormat("%.3g %s", value, unit);
}

absl::StatusOr<v1::Schedule> ScheduleOf(const ScheduleOptions& options) {
  v1::Schedule schedule;
  if (options.what == "rotor") {
    schedule.set_sequence(v1::Schedule::ROTOR);
  } else if (options.what == "round-robin") {
    schedule.set_sequence(v1::Schedule::ROUND_ROBIN);
  } else {
    absl::StatusOr<v1::Schedule> read = ReadScheduleFile(options.what);
    if (!read.ok()) return read.status();
    schedule = *std::move(read);
  }
  if (!options.slot.empty()) schedule.set_slot(options.slot);
  if (!options.guard.empty()) schedule.set_guard(options.guard);
  if (!options.protocol.empty()) schedule.set_protocol(options.protocol);
  if (options.seed.has_value()) schedule.set_seed(*options.seed);
  if (options.queue != 0) schedule.set_queue(options.queue);
  if (options.waiting != 0) schedule.set_waiting(options.waiting);
  if (!options.late.empty()) {
    schedule.set_late(options.late == "drop"  ? v1::Schedule::DROP
                      : options.late == "vlb" ? v1::Schedule::VLB
                                              : v1::Schedule::WAIT);
  }
  if (const auto violations = CheckSchedule(&schedule); !violations.empty()) {
    return ToStatus(violations);
  }
  return schedule;
}

// What the cycle is, in one line: "63 slots of 100us (guard 5us), a cycle of 6.3 ms, ...".
void PrintCycle(const v1::ScheduleStatus& status) {
  const v1::Schedule& schedule = status.schedule();
  uint64_t circuits = 0;
  uint32_t congestion = 0;
  for (const v1::SlotStatus& slot : status.slots()) {
    circuits += slot.circuits();
    congestion = std::max(congestion, slot.congestion());
  }
  const double cycle = static_cast<double>(SlotNsOf(schedule)) * status.slots_size();
  printf("%d slot%s of %s (guard %s), a cycle of %s; %" PRIu64
         " circuits on %u rows by %s, congestion %u; late frames %s\n",
         status.slots_size(), status.slots_size() == 1 ? "" : "s", schedule.slot().c_str(),
         schedule.guard().c_str(), InUnits(cycle).c_str(), circuits, status.rows(),
         schedule.protocol().c_str(), congestion,
         schedule.late() == v1::Schedule::DROP  ? "are dropped"
         : schedule.late() == v1::Schedule::VLB ? "go by an intermediate row"
                                                : "wait");
}

void PrintSlots(const v1::ScheduleStatus& status) {
  printf("%5s %8s %6s %5s %10s %12s %14s %6s %12s %9s %8s %8s %8s\n", "slot", "circuits", "broken",
         "cong.", "turns", "frames", "bytes", "used", "waited", "wait", "waiting", "full",
         "missed");
  for (int i = 0; i < std::min(kSlotsShown, status.slots_size()); ++i) {
    const v1::SlotStatus& slot = status.slots(i);
    printf("%5u %8u %6u %5u %10" PRIu64 " %12" PRIu64 " %14" PRIu64 " %5.1f%% %12" PRIu64
           " %9s %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n",
           slot.slot(), slot.circuits(), slot.broken(), slot.congestion(), slot.turns(),
           slot.frames(), slot.bytes(), 100 * slot.utilisation(), slot.waited(),
           InUnits(slot.mean_wait_ns()).c_str(), slot.waiting(), slot.full(), slot.missed());
  }
  if (status.slots_size() > kSlotsShown) {
    printf("and %d more (--json has them all)\n", status.slots_size() - kSlotsShown);
  }
}

void PrintStatus(const v1::ScheduleStatus& status) {
  PrintCycle(status);
  PrintSlots(status);
  printf("dropped: %" PRIu64 " no slot for the pair, %" PRIu64
         " no memory; the longest wait was %s\n",
         status.no_slot(), status.no_memory(),
         InUnits(static_cast<double>(status.longest_wait_ns())).c_str());
  if (status.schedule().late() == v1::Schedule::VLB) {
    printf("%" PRIu64 " frames left for an intermediate row\n", status.by_intermediate_row());
  }
  if (status.broken_slots() > 0 || status.repairs() > 0) {
    printf("slots with a circuit over a link that is down: %u; repairs: %u\n",
           status.broken_slots(), status.repairs());
  }
  for (const v1::SlotSwitching& worker : status.workers()) {
    if (worker.slots() == 0) continue;
    printf("lcore %d began %" PRIu64
           " slots that frames waited for: late by %s in the mean, %s "
           "at p99, %s at most; passed %" PRIu64 " over\n",
           worker.lcore(), worker.slots(), InUnits(worker.mean_ns()).c_str(),
           InUnits(worker.p99_ns()).c_str(), InUnits(worker.max_ns()).c_str(),
           worker.passed_over());
  }
}

absl::Status Print(const v1::ScheduleStatus& status, bool ran, const Common& common) {
  if (common.json) return PrintJson(status);
  if (ran) {
    PrintStatus(status);
  } else {
    PrintCycle(status);
  }
  return absl::OkStatus();
}

// The data plane that runs a stage. A topology that was read without an error places
// every stage.
std::string PlaneOf(const v1::Topology& topology, uint32_t stage) {
  for (const v1::StagePlacement& entry : topology.placement()) {
    const absl::StatusOr<std::vector<Range>> stages = ParseRanges(entry.stages());
    if (!stages.ok()) continue;
    for (const Range& range : *stages) {
      if (range.first <= stage && stage <= range.last) return entry.data_plane();
    }
  }
  return "";
}

absl::Status DryRun(const ScheduleOptions& options, const Common& common) {
  const absl::StatusOr<v1::Topology> topology = ReadTopologyFile(options.network);
  if (!topology.ok()) return topology.status();
  const absl::StatusOr<Network> network = NetworkOf(topology->network());
  if (!network.ok()) return network.status();
  const absl::StatusOr<v1::Schedule> schedule = ScheduleOf(options);
  if (!schedule.ok()) return schedule.status();
  const auto last_stage = static_cast<uint32_t>(network->stages() - 1);
  absl::Status led_back =
      CheckWayBack(*schedule, PlaneOf(*topology, 0), PlaneOf(*topology, last_stage));
  if (!led_back.ok()) return led_back;
  const absl::StatusOr<RoutedSchedule> routed =
      RouteSchedule(*schedule, *network, CapacityOf(*topology, *network),
                    PlannedFaults(topology->faults(), *network));
  if (!routed.ok()) return routed.status();
  v1::ScheduleStatus status;
  FillPaths(*routed, network->rows(), &status);
  return Print(status, false, common);
}

absl::Status Start(const ScheduleOptions& options, const Common& common) {
  absl::StatusOr<v1::Schedule> schedule = ScheduleOf(options);
  if (!schedule.ok()) return schedule.status();
  v1::StartScheduleRequest request;
  *request.mutable_schedule() = *std::move(schedule);
  request.set_replace(options.replace);
  request.set_dry_run(options.dry_run);
  auto stub = v1::Schedules::NewStub(Connect(common));
  v1::StartScheduleResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Schedules::Stub::Start, request, &response, common);
  if (!status.ok()) return status;
  return Print(response.status(), false, common);
}

absl::Status Stop(const Common& common) {
  auto stub = v1::Schedules::NewStub(Connect(common));
  v1::StopScheduleResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Schedules::Stub::Stop, v1::StopScheduleRequest(), &response, common);
  if (!status.ok()) return status;
  if (!common.json && response.last().slots().empty()) {
    printf("the schedule that was kept ended; it had not begun\n");
    return absl::OkStatus();
  }
  return Print(response.last(), true, common);
}

absl::Status Repair(const Common& common) {
  auto stub = v1::Schedules::NewStub(Connect(common));
  v1::RepairScheduleResponse response;
  const absl::Status status = Call(stub.get(), &v1::Schedules::Stub::Repair,
                                   v1::RepairScheduleRequest(), &response, common);
  if (!status.ok()) return status;
  if (common.json) return PrintJson(response);
  printf("%u slots have new paths, %u slots are broken\n", response.changed_slots(),
         response.broken_slots());
  return absl::OkStatus();
}

absl::Status Show(const Common& common) {
  auto stub = v1::Schedules::NewStub(Connect(common));
  v1::GetScheduleResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Schedules::Stub::Get, v1::GetScheduleRequest(), &response, common);
  if (!status.ok()) return status;
  if (!response.has_status()) {
    if (common.json) return PrintJson(response);
    printf("no schedule runs\n");
    if (response.has_kept()) {
      printf("one that was kept, of slots of %s, begins as soon as it can%s%s\n",
             response.kept().slot().c_str(), response.kept_problem().empty() ? "" : ": ",
             response.kept_problem().c_str());
    }
    return absl::OkStatus();
  }
  return Print(response.status(), true, common);
}

}  // namespace

void AddSchedule(CLI::App& circuit, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      circuit, invocation, "schedule",
      "Step through slots of circuits by the input workers' own clock; stop it or show its "
      "counters",
      "bfly circuit schedule rotor --slot 100us --guard 5us\n"
      "  bfly circuit schedule status\n"
      "  bfly circuit schedule rotor --dry-run --network topologies/examples/butterfly-64.yaml\n"
      "  bfly circuit schedule topologies/schedules/three-slots.yaml --replace\n"
      "  bfly circuit schedule repair\n"
      "  bfly circuit schedule stop");
  TakesElectionId(verb, invocation);
  auto options = std::make_shared<ScheduleOptions>();
  verb->add_option(
          "what", options->what,
          "rotor (slot k leads from row i to i + k + 1), round-robin (to i xor (k + 1)), "
          "a schedule file; or stop or status of what runs, or repair, which routes its slots "
          "anew around what is down")
      ->required()
      ->type_name("rotor|round-robin|FILE|stop|status|repair");
  std::vector<CLI::Option*> of_start = {
      verb->add_option("--slot", options->slot, "How long a slot lasts, 1us to 10s [100us]")
          ->type_name("TIME"),
      verb->add_option("--guard", options->guard,
                       "The end of each slot, in which no frame enters [5us]")
          ->type_name("TIME"),
      verb->add_option(
              "--protocol", options->protocol,
              "Circuit protocol that chooses the paths of each slot [greedy where no two paths "
              "of a slot share a link, else minimum]")
          ->type_name("PROTOCOL"),
      verb->add_option("--seed", options->seed, "Seed of the protocol"),
      verb->add_option("--late", options->late,
                       "What happens to frames whose slot is not on: they wait at their input, are "
                       "dropped, or go by an intermediate row (Valiant load balancing) [wait]")
          ->check(CLI::IsMember({"wait", "drop", "vlb"})),
      verb->add_option("--queue", options->queue,
                       "Frames that may wait at one row for one slot [256]")
          ->check(CLI::Range(1u, 1u << 22))
          ->type_name("FRAMES"),
      verb->add_option("--waiting", options->waiting, "Frames that may wait at all rows [65536]")
          ->check(CLI::Range(1u, 1u << 22))
          ->type_name("FRAMES"),
      verb->add_flag("--replace", options->replace,
                     "Take the place of the schedule that runs; frames that wait go over to it"),
  };
  CLI::Option* dry_run =
      verb->add_flag("--dry-run", options->dry_run, "Choose the paths, start nothing");
  of_start.push_back(dry_run);
  of_start.push_back(verb->add_option("--network", options->network,
                                      "Topology file of the network for a dry run that needs no "
                                      "running fabric")
                         ->needs(dry_run)
                         ->type_name("FILE"));
  verb->callback([&invocation, options, of_start] {
    const bool running =
        options->what == "stop" || options->what == "status" || options->what == "repair";
    for (const CLI::Option* option : of_start) {
      if (running && option->count() > 0) {
        throw CLI::ValidationError(option->get_name(),
                                   "goes with a schedule to start, not with " + options->what);
      }
    }
    invocation.action = [common = invocation.common, options] {
      if (options->what == "stop") return Stop(common);
      if (options->what == "status") return Show(common);
      if (options->what == "repair") return Repair(common);
      return options->network.empty() ? Start(*options, common) : DryRun(*options, common);
    };
  });
}

}  // namespace bfly::control
