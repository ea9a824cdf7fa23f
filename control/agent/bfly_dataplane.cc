// SPDX-License-Identifier: Apache-2.0
// bfly-dataplane: the stage workers of one server, and the agent through which a controller reaches
// them.
#include <sched.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/agent/agent_captures.h"
#include "control/agent/agent_schedules.h"
#include "control/agent/agent_service.h"
#include "control/agent/fabric_host.h"
#include "control/agent/update_socket.h"
#include "control/agent/worker_watch.h"
#include "control/log/logger.h"
#include "control/server/address.h"
#include "control/server/door_flags.h"
#include "control/server/grpc_server.h"
#include "control/server/privileges.h"
#include "control/server/service_notice.h"
#include "control/server/short_slices.h"
#include "control/server/stop_signal.h"
#include "control/topology_file/ranges.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/to_fabric_config.h"
#include "dataplane/fabric/loaded_fabric.h"
#include "dataplane/ports/device_policy.h"
#include "dataplane/runtime/control_threads.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/eal.h"
#include "dataplane/taps/tap.h"
#include "dataplane/telemetry_socket/telemetry_socket.h"

namespace bfly::control {
namespace {

struct Flags {
  std::string name = "dp0";
  std::string run_dir;
  DoorFlags doors;
  std::vector<std::string> device_dirs;
  std::vector<std::string> device_files;
  std::string lcores;
  int memory_mb = 0;
  bool no_huge = false;
  bool verbose = false;
  LogFlags log;
  std::string topology;
};

constexpr int kDefaultMemoryMb = 512;
constexpr char kExample[] = R"(
A data plane does nothing until a fabric is loaded: by bfly-controller, or with --topology by itself. It ends
on SIGTERM or SIGINT, and then prints where every packet went.

Examples:
  bfly-dataplane --name dp0                          waits at /run/bfly/dp0.sock for a controller
  bfly-dataplane --topology demo.yaml --no-huge      runs without a controller and without hugepages
  bfly-dataplane --run-dir /tmp/lab --lcores 1-3     workers on CPUs 1 to 3 only
)";

void Declare(CLI::App& app, Flags& flags) {
  app.description(
      "The data plane of a bfly fabric: stage workers, ports, trunks, and their agent.");
  app.footer(kExample);
  app.set_version_flag("--version", BFLY_VERSION);
  app.add_option("--name", flags.name, "Which of the topology's data planes this is")
      ->capture_default_str();
  app.add_option("--run-dir", flags.run_dir,
                 "Directory of the sockets [BFLY_RUN_DIR, else /run/bfly]");
  DeclareDoors(app, flags.doors, Role::kPrimary);
  app.add_option("--device-dir", flags.device_dirs,
                 "Directory whose files and sockets the devices of a topology may name; may be "
                 "given more than once. The run directory is always one of them");
  app.add_option("--device-file", flags.device_files,
                 "File or socket that the devices of a topology may name; may be given more than "
                 "once. Files that the --topology file names are always allowed");
  app.add_option("--lcores", flags.lcores,
                 "CPUs that workers may run on, such as 1-3 [all this process may use]");
  app.add_option("--memory-mb", flags.memory_mb,
                 "Memory for packet buffers [memory_mb of the topology, else 512]")
      ->check(CLI::Range(64, 262144));
  app.add_flag("--no-huge", flags.no_huge,
               "Use ordinary pages even if there are hugepages (slower)");
  app.add_option("--topology", flags.topology, "Load this topology file at once");
  app.add_flag("--verbose", flags.verbose, "Show what DPDK logs");
  DeclareLog(app, flags.log);
}

// Keeps DPDK, and with it every worker, off the other CPUs.
absl::Status RestrictTo(const std::string& lcores) {
  if (lcores.empty()) return absl::OkStatus();
  const auto cpus = ExpandRanges(lcores, CPU_SETSIZE - 1, "lcore");
  if (!cpus.ok())
    return absl::InvalidArgumentError(absl::StrCat("lcores: ", cpus.status().message()));
  cpu_set_t set;
  CPU_ZERO(&set);
  for (uint32_t cpu : *cpus) CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("lcores: this process may run on none of ", lcores, "; see taskset -p $$"));
  }
  dataplane::KeepToAffinity();
  return absl::OkStatus();
}

int MemoryFor(const Flags& flags, const v1::Topology& topology) {
  if (flags.memory_mb != 0) return flags.memory_mb;
  for (const v1::DataPlane& plane : topology.data_planes()) {
    if (plane.name() == flags.name) return static_cast<int>(plane.memory_mb());
  }
  return kDefaultMemoryMb;
}

absl::StatusOr<dataplane::DevicePolicy> DevicesAllowed(const Flags& flags,
                                                       const v1::Topology& topology) {
  dataplane::DevicePolicy policy;
  policy.AllowDirectory(RunDirectory(flags.run_dir));
  for (const std::string& directory : flags.device_dirs) policy.AllowDirectory(directory);
  for (const std::string& file : flags.device_files) policy.AllowFile(file);
  if (!flags.topology.empty()) {
    const auto config = ToFabricConfig(topology, flags.name);
    if (!config.ok()) return config.status();
    for (const std::string& file : dataplane::DeviceFiles(*config)) policy.AllowFile(file);
  }
  return policy;
}

std::vector<int> CpusOfWorkers(const dataplane::Fabric& fabric) {
  std::vector<int> cpus;
  for (const dataplane::WorkerCounters& worker : fabric.summary().workers) {
    if (const auto cpu = dataplane::CpuOfLcore(worker.lcore)) cpus.push_back(*cpu);
  }
  return cpus;
}

LogRecord LoadRecord(const std::string& name, const absl::Status& status,
                     const dataplane::FabricConfig& config) {
  std::set<int> lcores;
  for (const dataplane::StagePlacement& part : config.placement) lcores.insert(part.lcore);
  LogRecord record{.event = "topology",
                   .fields = {{"data_plane", name},
                              {"change", status.ok() ? "loaded" : "failed"},
                              {"workers", uint64_t{lcores.size()}}}};
  if (status.ok()) {
    record.text = absl::StrCat("fabric loaded, ", lcores.size(), " workers");
  } else {
    record.level = LogLevel::kError;
    record.text = absl::StrCat("the fabric cannot be loaded: ", status.message());
    record.fields.push_back({"reason", std::string(status.message())});
  }
  return record;
}

// The policy checks what clients ask for before DPDK sees it.
FabricBackend RealBackend(const dataplane::DevicePolicy& policy, const std::string& hosts_file,
                          const std::string& name, Logger& logger) {
  return {
      .verify =
          [policy](const dataplane::FabricConfig& config) {
            std::vector<absl::Status> errors = policy.Check(config);
            return errors.empty() ? dataplane::Fabric::Verify(config) : errors;
          },
      .load = [hosts_file, name, &logger](const dataplane::FabricConfig& config)
          -> absl::StatusOr<std::unique_ptr<dataplane::Fabric>> {
        auto fabric = dataplane::LoadedFabric::Load(config, nullptr, hosts_file);
        logger.Write(LoadRecord(name, fabric.status(), config));
        if (!fabric.ok()) return fabric.status();
        dataplane::KeepControlThreadsOff(CpusOfWorkers(**fabric));
        return *std::move(fabric);
      },
      .check_device = [policy](const std::string& field,
                               const std::string& device) { return policy.Check(field, device); }};
}

void PrintAccount(const dataplane::Snapshot& last) {
  const dataplane::Conservation& c = last.conservation;
  std::string line = absl::StrCat("conservation: injected ", c.injected);
  if (last.trunk_in != 0) absl::StrAppend(&line, " + from trunks ", last.trunk_in);
  absl::StrAppend(&line, " = delivered ", c.delivered, " + dropped ", c.dropped, " + in flight ",
                  c.in_flight);
  if (last.trunk_out != 0) absl::StrAppend(&line, " + to trunks ", last.trunk_out);
  std::cout << line << std::endl;
}

std::string StatusText(const FabricHost& host, size_t workers) {
  if (workers == 0) return "no fabric is loaded";
  return absl::StrCat("fabric ", host.held(/*full=*/true).topology.name(), ", ", workers,
                      workers == 1 ? " worker" : " workers");
}

// Serves until a client or a signal asks it to end. Tells the service manager, if that wants to
// know, that the data plane is alive as long as every worker goes on.
void Serve(const StopSignal& stop, const FabricHost& host) {
  const auto workers_now = [&host] {
    const auto snapshot = host.snapshot(/*links=*/false);
    return snapshot.ok() ? snapshot->workers : std::vector<dataplane::WorkerCounters>();
  };
  ServiceNotice notice;
  notice.Ready(StatusText(host, workers_now().size()));
  if (!notice.watchdog().has_value()) {
    stop.Wait();
  } else {
    WorkerWatch watch;
    do {
      const std::vector<dataplane::WorkerCounters> workers = workers_now();
      notice.SetStatus(StatusText(host, workers.size()));
      if (watch.AllMove(workers)) notice.Alive();
    } while (!stop.WaitFor(*notice.watchdog() / 4));
  }
  notice.Stopping();
}

// Kernel interfaces need the first four; the kernel opens an XDP program by its number only for a
// process with CAP_SYS_ADMIN. PCI cards and hugepages need CAP_IPC_LOCK, PCI cards without an IOMMU
// CAP_SYS_RAWIO, and memory on the node of a worker CAP_SYS_NICE.
constexpr int kCapabilities[] = {CAP_NET_ADMIN, CAP_NET_RAW,   CAP_BPF,     CAP_SYS_ADMIN,
                                 CAP_IPC_LOCK,  CAP_SYS_RAWIO, CAP_SYS_NICE};

absl::Status GiveUpPrivileges(const Flags& flags, const v1::Topology& topology) {
  std::vector<NeededFile> files = FilesOf(flags.doors);
  files.push_back({RunDirectory(flags.run_dir), FileUse::kMeets});
  for (const std::string& file : flags.device_files) files.push_back({file, FileUse::kMeets});
  if (!flags.topology.empty()) {
    const auto config = ToFabricConfig(topology, flags.name);
    if (!config.ok()) return config.status();
    for (const std::string& file : dataplane::DeviceFiles(*config)) {
      files.push_back({file, FileUse::kMeets});
    }
  }
  std::vector<int> needed(std::begin(kCapabilities), std::end(kCapabilities));
  if (!flags.doors.tls_listen.empty()) needed.push_back(CAP_NET_BIND_SERVICE);
  // Whose files ports will name there is not known yet.
  if (!flags.device_dirs.empty()) needed.push_back(CAP_DAC_OVERRIDE);
  return KeepCapabilities(needed, files);
}

absl::Status Run(const Flags& flags, Logger& logger) {
  v1::Topology topology;
  if (!flags.topology.empty()) {
    absl::StatusOr<v1::Topology> read = ReadTopologyFile(flags.topology);
    if (!read.ok()) return read.status();
    topology = *std::move(read);
  }
  if (absl::Status status = GiveUpPrivileges(flags, topology); !status.ok()) return status;
  // This comes before threads are started, which inherit the CPUs.
  if (absl::Status status = RestrictTo(flags.lcores); !status.ok()) return status;
  const StopSignal stop;
  const std::string run_directory = RunDirectory(flags.run_dir);
  if (absl::Status status = CheckRunDirectory(run_directory); !status.ok()) return status;
  const absl::StatusOr<Doors> doors =
      DoorsOf(flags.doors, SocketAddress(run_directory, flags.name), Role::kPrimary);
  if (!doors.ok()) return doors.status();
  const std::string& socket = doors->sockets.front();
  // This comes before devices are touched, because a second data plane of this name must not get
  // that far.
  if (absl::Status status = PrepareSocket(socket); !status.ok()) return status;

  const absl::StatusOr<dataplane::DevicePolicy> policy = DevicesAllowed(flags, topology);
  if (!policy.ok()) return policy.status();
  dataplane::EalOptions options;
  options.memory_mb = MemoryFor(flags, topology);
  options.use_hugepages = !flags.no_huge;
  options.verbose = flags.verbose;
  options.telemetry = true;
  const absl::StatusOr<dataplane::Eal> eal = dataplane::StartEal(options);
  if (!eal.ok()) return eal.status();
  // The threads of workers are there by now and keep their long slices.
  TakeShortSlices();
  std::cout << eal->dpdk_version << ", " << eal->memory << std::endl;

  const std::string hosts_file =
      absl::StrCat(RunDirectory(flags.run_dir), "/", flags.name, ".hosts");
  FabricHost host(RealBackend(*policy, hosts_file, flags.name, logger), flags.name);
  const dataplane::TelemetrySocket telemetry(
      [&host](const std::function<void(const dataplane::Fabric&)>& read) {
        return host.Read(read);
      });
  if (!flags.topology.empty()) {
    if (absl::Status status = host.Load(topology).status(); !status.ok()) return status;
  }
  AgentService service(host, {.memory = eal->memory, .dpdk_version = eal->dpdk_version},
                       &StopSignal::Request);
  AgentSchedulesService schedules(host);
  AgentCapturesService captures(host);
  GrpcServer::Options server_options;
  doors->Fill(server_options);
  server_options.max_threads = 16 + dataplane::kMostTaps;  // a capture keeps a thread
  absl::StatusOr<std::unique_ptr<GrpcServer>> server =
      GrpcServer::Start(server_options, {&service, &schedules, &captures});
  if (!server.ok()) return server.status();
  absl::StatusOr<std::unique_ptr<UpdateSocket>> updates = UpdateSocket::Start(socket, host);
  if (!updates.ok()) return updates.status();
  std::cout << "data plane " << flags.name << " answers at "
            << absl::StrJoin(doors->addresses(), ", ") << std::endl;

  Serve(stop, host);
  (*server)->Stop();
  updates->reset();
  if (host.held(false).loaded) {
    const absl::StatusOr<dataplane::Snapshot> last = host.Unload();
    if (!last.ok()) return last.status();
    PrintAccount(*last);
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app;
  Flags flags;
  Declare(app, flags);
  CLI11_PARSE(app, argc, argv);
  Logger logger("bfly-dataplane", flags.log, absl::StrCat("bfly-", flags.name));
  const absl::Status status = Run(flags, logger);
  dataplane::StopEal();
  if (status.ok()) return 0;
  logger.Write({.level = LogLevel::kError,
                .text = std::string(status.message()),
                .fields = {{"data_plane", flags.name}}});
  return 1;
}

}  // namespace
}  // namespace bfly::control

int main(int argc, char** argv) { return bfly::control::Main(argc, argv); }
