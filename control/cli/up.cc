// SPDX-License-Identifier: Apache-2.0
// bfly up FILE: starts the fabric of a topology file on this machine.
#include "control/cli/up.h"

#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/access/peer.h"
#include "control/cli/client.h"
#include "control/cli/closing.h"
#include "control/cli/fleet.h"
#include "control/cli/kept_text.h"
#include "control/cli/terminal.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/server/address.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"
#include "control/top/stages_text.h"
#include "control/topology_file/diagnostic.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/spread_rows.h"
#include "dataplane/ports/unix_socket.h"
#include "dataplane/runtime/control_threads.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/machine_cpus.h"

namespace bfly::control {
namespace {

// How often a pending signal is looked for.
constexpr std::chrono::milliseconds kSignalStep{100};

absl::StatusOr<Source> ReadSource(const std::string& path) {
  absl::StatusOr<std::string> text = ReadTopologyText(path);
  if (!text.ok()) return text.status();
  Source source{.file = path == "-" ? "standard input" : path,
                .text = *std::move(text),
                .topology = {},
                .spread_over = {}};
  absl::StatusOr<v1::Topology> topology = ReadTopology(source.text, source.file);
  if (!topology.ok()) return topology.status();
  source.topology = *std::move(topology);
  return source;
}

// The process that serves at the Unix socket `path`; 0 if this machine has none.
pid_t ServerAt(const std::string& path) {
  const auto connection = dataplane::ConnectTo({.path = path}, SOCK_STREAM);
  if (!connection.ok()) return 0;
  const absl::StatusOr<Peer> server = PeerOf(connection->get());
  return server.ok() ? server->pid : 0;
}

// Gives the rows to the CPUs of the only data plane if the file has no placement. The CPUs are
// those of its process, or those of this process if `bfly up` is going to start it.
// InvalidArgument: it runs elsewhere.
absl::Status Spread(const Fleet& fleet, Source& source) {
  if (!source.topology.placement().empty() || source.topology.data_planes_size() != 1)
    return absl::OkStatus();
  const v1::DataPlane& plane = source.topology.data_planes(0);
  const bool runs = !plane.address().empty() || fleet.Answers(plane.name());
  const std::string socket =
      plane.address().empty() ? fleet.files(plane.name()).socket() : SocketPath(plane.address());
  const std::vector<int> cpus =
      runs ? dataplane::CpusOfThreads(ServerAt(socket)) : dataplane::UsableCpus();
  if (cpus.empty()) {
    const std::string message = absl::StrCat("is missing, and data plane ", plane.name(),
                                             ", whose CPUs bfly up does not know, runs at ",
                                             plane.address().empty() ? socket : plane.address(),
                                             " (which lcore runs which rows of which stages)");
    return ToStatus(PlaceErrors(source.text, source.file, {{"placement", "", message}}));
  }
  const std::vector<int> isolated = dataplane::ReadMachineCpus().isolated;
  source.spread_over = SpreadRows(dataplane::CpusForWorkers(cpus, isolated), &source.topology);
  return absl::OkStatus();
}

// An error of the controller. Fields of the topology that it names get their file and line.
absl::Status WithLines(const grpc::Status& answer, const Source& source, const Common& common) {
  const absl::Status status = FromGrpc(answer);
  std::vector<Violation> errors;
  for (const FieldError& error : FieldErrorsOf(status)) {
    const absl::string_view field = absl::StripPrefix(error.field, "topology.");
    const std::vector<Diagnostic> placed =
        PlaceErrors(source.text, source.file, {{std::string(field), "", error.description}});
    if (placed.front().line > 0) errors.push_back({std::string(field), "", error.description});
  }
  if (errors.empty()) return Explain(answer, common);
  return absl::Status(status.code(),
                      ToStatus(PlaceErrors(source.text, source.file, errors)).message());
}

struct LoadMode {
  bool replace = false;  // the fabric may take the place of another one
  bool resume = false;   // with the circuits and changes that were kept
};

absl::StatusOr<v1::LoadResponse> Load(const Source& source, const LoadMode& mode,
                                      const Common& common, SignalReader& signals) {
  auto stub = v1::Fabric::NewStub(Connect(common));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
  v1::LoadRequest request;
  *request.mutable_topology() = source.topology;
  request.set_replace(mode.replace);
  request.set_resume(mode.resume);
  request.set_election_id(common.election_id);
  v1::LoadResponse response;
  std::future<grpc::Status> answer =
      std::async(std::launch::async, [&] { return stub->Load(&context, request, &response); });
  while (answer.wait_for(kSignalStep) != std::future_status::ready)
    if (Interrupted(signals)) context.TryCancel();
  const grpc::Status status = answer.get();
  if (!status.ok()) return WithLines(status, source, common);
  return response;
}

// Returns where the controller of this run directory serves its page, or "".
std::string WebUrl(const std::string& run_dir) {
  std::ifstream in(run_dir + "/web.url");
  std::string url;
  std::getline(in, url);
  return url;
}

// Says what became of what was kept.
void PrintKept(const v1::LoadResponse& loaded, bool resume) {
  if (loaded.has_resumed()) {
    printf("  resumed: %s, from %s\n", KeptText(loaded.resumed()).c_str(),
           loaded.resumed().path().c_str());
  } else if (resume) {
    printf("  resumed nothing, because nothing is kept\n");
  }
  if (loaded.has_set_aside()) {
    const v1::KeptIntent& aside = loaded.set_aside();
    printf("  not resumed: what was kept of %s (%s) is set aside in %s\n", aside.name().c_str(),
           KeptText(aside).c_str(), aside.path().c_str());
  }
  if (const std::string& problem = loaded.status().keeping_problem(); !problem.empty()) {
    printf("  changes are not kept: %s\n", problem.c_str());
  }
}

void Print(const Source& source, const v1::LoadResponse& loaded, const Fleet& fleet,
           const Common& common, double seconds, bool resume) {
  const v1::FabricStatus& status = loaded.status();
  printf("%s is up after %.1f s: %s of %u rows, %u stages\n", status.name().c_str(), seconds,
         status.kind().c_str(), status.rows(), status.stages());
  if (!source.spread_over.empty())
    printf("  the file has no placement: rows are spread over CPUs %s, all stages on each\n",
           dataplane::FormatCpus(source.spread_over).c_str());
  const pid_t controller = fleet.pid(kControllerName);
  printf("  controller: %s%s\n",
         controller != 0 ? absl::StrCat("process ", controller, " at ").c_str() : "at ",
         common.controller_address().c_str());
  if (const std::string url = WebUrl(common.run_dir); !url.empty())
    printf("  web page: %s, token in %s/web.token\n", url.c_str(), common.run_dir.c_str());
  for (const v1::DataPlaneStatus& plane : status.data_planes()) {
    const pid_t pid = fleet.pid(plane.name());
    printf("  data plane %s: %s\n", plane.name().c_str(),
           (pid != 0 ? absl::StrCat("process ", pid) : "at " + plane.address()).c_str());
    if (!plane.memory().empty()) printf("    memory: %s\n", plane.memory().c_str());
    if (!plane.problem().empty()) printf("    %s\n", plane.problem().c_str());
    for (const v1::WorkerStatus& worker : plane.workers()) {
      const std::string stages = StagesText(worker);
      printf("    lcore %u %s\n", worker.lcore(),
             stages.empty() ? "only polls ports" : ("runs " + stages).c_str());
    }
  }
  PrintKept(loaded, resume);
  for (const v1::HostPort& port : source.topology.ports())
    printf("  port %s: %s, rows %s\n", port.name().c_str(), port.device().c_str(),
           port.rows().c_str());
  const std::string where =
      common.run_dir == "/run/bfly" ? "" : absl::StrCat(" --run-dir ", common.run_dir);
  printf("see it: bfly counters --watch%s    stop it: bfly down%s\n", where.c_str(), where.c_str());
}

// The kernel would start threads of the controller also in the middle of a worker's pass. Its
// threads go to the other CPUs, if there are any.
void KeepControllerOffWorkers(const v1::FabricStatus& status, const Fleet& fleet) {
  if (fleet.pid(kControllerName) == 0) return;  // somebody else started it, and places it
  std::vector<int> cpus;
  for (const v1::DataPlaneStatus& plane : status.data_planes()) {
    if (fleet.pid(plane.name()) == 0) continue;  // not on this machine
    for (const v1::WorkerStatus& worker : plane.workers())
      cpus.push_back(static_cast<int>(worker.lcore()));
  }
  dataplane::KeepProcessOff(fleet.pid(kControllerName), cpus);
}

// FailedPrecondition: an option is for a process that starts, and that process runs already.
absl::Status CheckStartOptions(const UpOptions& options, const v1::Topology& topology,
                               const Fleet& fleet, const Common& common) {
  if (!options.web.empty() && fleet.Answers(kControllerName))
    return absl::FailedPreconditionError(
        absl::StrCat("--web: the controller in ", common.run_dir,
                     " runs already and serves a page only if it was started with --web; leave "
                     "--web out, or end it and run `bfly-controller --web ",
                     options.web, "`"));
  if (!options.state_dir.empty() && fleet.Answers(kControllerName))
    return absl::FailedPreconditionError(
        absl::StrCat("--state-dir: the controller in ", common.run_dir,
                     " runs already and keeps the intent where it was told at its start; leave "
                     "--state-dir out, or end it and start it with `--state-dir ",
                     options.state_dir, "` (a unit: BFLY_STATE_DIR=", options.state_dir,
                     " in /etc/default/bfly)"));
  if (options.device_dirs.empty()) return absl::OkStatus();
  for (const v1::DataPlane& plane : topology.data_planes()) {
    if (!plane.address().empty() || !fleet.Answers(plane.name())) continue;
    const std::string words =
        absl::StrCat("--device-dir ", absl::StrJoin(options.device_dirs, " --device-dir "));
    return absl::FailedPreconditionError(absl::StrCat(
        "--device-dir: data plane ", plane.name(), " in ", common.run_dir,
        " runs already and uses the directories that it was told at its start; leave "
        "--device-dir out, or end it and start it with `",
        words, "` (a unit: BFLY_DATAPLANE_OPTIONS='", words, "' in /etc/default/bfly)"));
  }
  return absl::OkStatus();
}

// Waits until a signal asks to end, or a process of the fabric dies.
absl::Status StayInForeground(SignalReader& signals, const Fleet& fleet) {
  const std::vector<std::string> started = fleet.Running();
  for (;;) {
    if (Interrupted(signals)) return absl::OkStatus();
    for (const std::string& name : started)
      if (fleet.pid(name) == 0)
        return absl::InternalError(absl::StrCat(name, " ended by itself; its log ends with\n",
                                                LogTail(fleet.files(name), 20)));
    std::this_thread::sleep_for(kSignalStep);
  }
}

// The check of --web, behind which the parser would also take FILE. The controller judges the
// address.
std::string NotAPlace(const std::string& value) {
  const std::string port = value.substr(value.rfind(':') + 1);  // rfind() + 1 is 0 without a colon
  if (!port.empty() && absl::c_all_of(port, absl::ascii_isdigit)) return "";
  return absl::StrCat("'", value, "' is no PORT or ADDRESS:PORT; write --web behind FILE");
}

}  // namespace

absl::Status Up(const UpOptions& options, const Common& common) {
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<Source> source = ReadSource(options.file);
  if (!source.ok()) return source.status();
  const v1::Topology& topology = source->topology;
  if (absl::Status here = WorksInRunDir(common); !here.ok()) return here;
  absl::StatusOr<RunDirLock> lock = RunDirLock::Take(common.run_dir);
  if (!lock.ok()) return lock.status();
  Fleet fleet(common.run_dir, common.tls);
  const std::vector<std::string> running = fleet.Running();
  // What somebody else started, such as a service manager, has no pid file.
  const bool replace = options.replace && (!running.empty() || fleet.Answers(kControllerName));
  if (replace && !fleet.Answers(kControllerName))
    return absl::FailedPreconditionError(
        absl::StrCat("the controller of the fabric in ", common.run_dir,
                     " is gone; a new one takes it over, `bfly-controller --run-dir ",
                     common.run_dir, "`; replace the fabric then"));
  if (!replace && !running.empty())
    return absl::AlreadyExistsError(absl::StrCat(
        "a fabric runs in ", common.run_dir, " already (", absl::StrJoin(running, ", "), "): ",
        fleet.pid(kControllerName) != 0
            ? "see it with `bfly status`, exchange it with `bfly up --replace`"
            : absl::StrCat(
                  "its controller is gone; a new one takes it over, `bfly-controller --run-dir ",
                  common.run_dir, "`"),
        ", stop it with `bfly down`"));
  if (absl::Status fit = CheckStartOptions(options, topology, fleet, common); !fit.ok()) return fit;
  if (absl::Status spread = Spread(fleet, *source); !spread.ok()) return spread;
  // Removes what a killed fabric left behind.
  if (!replace) fleet.Stop(/*keep_logs=*/false);

  // Child processes start with the terminal's signals unblocked again (daemon.cc).
  SignalReader signals;
  if (absl::Status ready = options.prepare(*source); !ready.ok()) return ready;
  const absl::StatusOr<std::vector<std::string>> started =
      fleet.Start(topology, options.device_dirs, options.state_dir, options.web,
                  [&signals] { return Interrupted(signals); });
  if (!started.ok()) return started.status();
  Common caller = common;
  // A controller that has just been started has no primary.
  if (std::find(started->begin(), started->end(), kControllerName) != started->end())
    caller.election_id = 0;
  const absl::StatusOr<v1::LoadResponse> loaded =
      Load(*source, {.replace = replace, .resume = options.resume}, caller, signals);
  if (!loaded.ok()) {
    // The fabric that was to be replaced keeps running.
    fleet.Stop(*started, /*keep_logs=*/true);
    return loaded.status();
  }
  if (replace) fleet.StopAllBut(topology);
  absl::Status told = options.loaded();
  KeepControllerOffWorkers(loaded->status(), fleet);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (told.ok() && common.json) told = PrintJson(loaded->status());
  if (told.ok() && !common.json) {
    Print(*source, *loaded, fleet, common, took.count(), options.resume);
    told = FlushOutput();
  }
  if (!told.ok()) {
    // The fabric that was replaced is gone. The new one runs on in its place.
    if (replace) return told;
    v1::UnloadResponse account;
    return Joined(told, CloseFabric(fleet, caller, &account));
  }
  if (!options.foreground) return absl::OkStatus();
  const absl::Status ended = StayInForeground(signals, fleet);
  caller.election_id = 0;  // that of the operator counts
  const absl::Status closed = CloseFabric(fleet, caller);
  return ended.ok() ? closed : ended;
}

CLI::Option* AddResumeOptions(CLI::App& verb, UpOptions& options) {
  verb.add_option("--state-dir", options.state_dir,
                  "Directory where the intent is kept, over reboots too [BFLY_STATE_DIR, else "
                  "/var/lib/bfly for /run/bfly and the run directory for others]")
      ->type_name("DIR");
  return verb.add_flag(
      "--resume", options.resume,
      "Bring back what `bfly down`, `bfly lab down` or the end of the machine left: circuits, "
      "changed links, faults, objects, traffic and the schedule. FILE must have the same name and "
      "network. Without it the fabric begins anew, and what was kept is set aside");
}

void AddWebOption(CLI::App& verb, std::string& web) {
  verb.add_option("--web", web,
                  "Serve a web page of the fabric, by default at 7390, which is 127.0.0.1:7390; "
                  "another PORT or ADDRESS:PORT of this machine stands behind --web")
      ->type_name("ADDRESS")
      ->expected(0, 1)
      ->check(NotAPlace)
      ->default_str("7390");
}

void AddUp(CLI::App& app, Invocation& invocation) {
  CLI::App* verb = NewVerb(app, invocation, "up",
                           "Check a topology file, start what it needs on this machine, load it",
                           "sudo bfly up topologies/examples/bb8.yaml");
  TakesElectionId(verb, invocation);
  auto options = std::make_shared<UpOptions>();
  verb->add_option("file", options->file, "Topology file (YAML); - is standard input")
      ->required()
      ->type_name("FILE");
  verb->add_flag("--foreground", options->foreground,
                 "Stay until Ctrl-C or the end of the terminal, then take the fabric down");
  verb->add_option(
          "--device-dir", options->device_dirs,
          "Directory whose files and sockets the devices of fabrics loaded later may name; "
          "files that FILE names are always allowed")
      ->type_name("DIR");
  CLI::Option* resume = AddResumeOptions(*verb, *options);
  AddWebOption(*verb, options->web);
  CLI::Option* replace = verb->add_flag(
      "--replace", options->replace,
      "Replace the running fabric: data planes of the same name keep their processes, others "
      "are started and stopped. If the new fabric cannot be loaded, the old one is loaded "
      "again, empty of packets. A data plane that stays may only use the device files "
      "that it was started with");
  replace->excludes(resume);
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] { return Up(*options, common); };
  });
}

}  // namespace bfly::control
