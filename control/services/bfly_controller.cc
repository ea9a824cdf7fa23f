// SPDX-License-Identifier: Apache-2.0
// The program bfly-controller, one for each fabric. It serves bfly.v1 and keeps the data planes in
// step.
#include <limits.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/access/audit_log.h"
#include "control/access/tls.h"
#include "control/controller/controller.h"
#include "control/controller/schedule_control.h"
#include "control/events/event_log.h"
#include "control/events/event_logger.h"
#include "control/log/logger.h"
#include "control/server/address.h"
#include "control/server/controller_lock.h"
#include "control/server/door_flags.h"
#include "control/server/grpc_server.h"
#include "control/server/number_option.h"
#include "control/server/operator_id.h"
#include "control/server/privileges.h"
#include "control/server/service_notice.h"
#include "control/server/short_slices.h"
#include "control/server/state_lock.h"
#include "control/server/stop_signal.h"
#include "control/services/captures_service.h"
#include "control/services/circuits_service.h"
#include "control/services/counter_poll.h"
#include "control/services/data_server_service.h"
#include "control/services/events_service.h"
#include "control/services/fabric_service.h"
#include "control/services/programs_service.h"
#include "control/services/schedules_service.h"
#include "control/services/telemetry_service.h"
#include "control/services/traffic_service.h"
#include "control/web/web_page.h"

namespace bfly::control {
namespace {

constexpr char kExample[] = R"(
The services are Captures, Events, Fabric, Circuits, DataServer, Programs, Schedules, Telemetry and Traffic of bfly.v1,
grpc.health.v1 and server reflection.
A controller that starts takes over what the data planes hold; it ends on SIGTERM or SIGINT and leaves them
running. `bfly up FILE` starts it together with the data planes of a topology file.

Examples:
  bfly-controller                                    serves at /run/bfly/controller.sock
  bfly-controller --listen unix:/tmp/lab/c.sock      serves at another socket
  bfly-controller --viewer group:lab                 lets the users of a group look on
  bfly-controller --web 7390                         serves a page for browsers of this machine
  bfly-controller --tls-listen 0.0.0.0:7380 --tls-cert c.pem --tls-key c.key --tls-ca lab.pem --operator certificate:alice
  bfly-controller --run-dir /tmp/lab --agent unix:/tmp/other/dp0.sock
)";

struct Flags {
  std::string run_dir;
  std::string state_dir;
  bool resume = false;
  DoorFlags doors;
  LogFlags log;
  std::vector<std::string> agents;
  std::string audit;
  std::string web;
  double look_time = 2;
  int late_looks = 3;
};

void Declare(CLI::App& app, Flags& flags) {
  app.description("The controller of a bfly fabric: a gRPC server over its data planes.");
  app.footer(kExample);
  app.set_version_flag("--version", BFLY_VERSION);
  app.add_option("--run-dir", flags.run_dir,
                 "Directory of the sockets [BFLY_RUN_DIR, else /run/bfly]");
  app.add_option("--state-dir", flags.state_dir,
                 "Directory where the fabric's intent is kept, over reboots too [BFLY_STATE_DIR, "
                 "else /var/lib/bfly for /run/bfly and the run directory for others]");
  app.add_flag("--resume", flags.resume,
               "If no data plane holds a fabric, and one was loaded when the last controller "
               "ended, load that one again with its circuits, links, faults, objects and traffic");
  DeclareDoors(app, flags.doors, Role::kViewer);
  app.add_option("--audit", flags.audit,
                 "File that says who changed what, a line of JSON a call [STATE_DIR/audit.log]")
      ->type_name("FILE");
  DeclareLog(app, flags.log);
  app.add_option("--web", flags.web, kWebHelp)->type_name("ADDRESS");
  app.add_option("--agent", flags.agents,
                 "Address of a data plane to take over from when starting, besides the sockets in "
                 "the run directory; may be given more than once");
  app.add_option("--look-time", flags.look_time,
                 "Seconds that a data plane may take to answer when the controller looks whether "
                 "it is there, which it does several times a second")
      ->check(NumberFrom(0.1, 60.0))
      ->capture_default_str();
  app.add_option("--late-looks", flags.late_looks,
                 "A data plane that misses so many looks in a row counts as gone. One whose "
                 "process has ended is gone at once")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
}

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = "this machine";
  gethostname(name, sizeof(name) - 1);
  return name;
}

// Tells the service manager that the controller is alive as long as its queue goes on.
class QueuePulse {
 public:
  QueuePulse(CommitQueue& queue, ServiceNotice& notice) : queue_(queue), notice_(notice) {}

  // How often to call Feel.
  std::chrono::milliseconds interval() const {
    constexpr std::chrono::milliseconds kUsual{500};
    return notice_.watchdog().has_value() ? std::min(kUsual, *notice_.watchdog() / 4) : kUsual;
  }
  void Feel() {
    if (!notice_.watchdog().has_value() || !*returned_) return;
    notice_.Alive();
    *returned_ = false;
    queue_.Beat([returned = returned_] { *returned = true; });
  }

 private:
  CommitQueue& queue_;
  ServiceNotice& notice_;
  // Whether the last beat has come back. The queue may outlive this object.
  const std::shared_ptr<std::atomic<bool>> returned_ = std::make_shared<std::atomic<bool>>(true);
};

std::string StatusText(Controller& controller) {
  const v1::FabricStatus status = controller.Status();
  if (!status.loaded()) return "no fabric is loaded";
  std::string text = absl::StrCat("fabric ", status.name(), ", ", status.circuits(), " circuits");
  for (const v1::DataPlaneStatus& plane : status.data_planes()) {
    if (plane.state() == v1::DataPlaneStatus::RUNNING && plane.problem().empty()) continue;
    absl::StrAppend(&text, ", data plane ", plane.name(), " is not in step");
  }
  return text;
}

// The page of the address that --web gives; null without --web. Who looks at the page has the role
// of a viewer, and who shows its token that of an operator. `server` may start later.
absl::StatusOr<std::unique_ptr<WebPage>> ServePage(const std::string& address,
                                                   const std::string& run_directory,
                                                   const std::atomic<GrpcServer*>& server) {
  if (address.empty()) {
    WebPage::RemoveLeftovers(run_directory);
    return nullptr;
  }
  const auto calls_as = [&server](Role role, const std::string& name) {
    return [&server, caller = Caller{.role = role, .name = name, .who = name}] {
      GrpcServer* const started = server.load(std::memory_order_acquire);
      return started == nullptr ? nullptr : started->ConnectAs(caller);
    };
  };
  return WebPage::Start({.address = address,
                         .run_directory = run_directory,
                         .viewer = calls_as(Role::kViewer, "web page"),
                         .changer = calls_as(Role::kOperator, "web page with its token")});
}

// It works with files and sockets alone, as its unit says. A port below 1024 needs a capability.
absl::Status GiveUpPrivileges(const Flags& flags) {
  const std::string run_directory = RunDirectory(flags.run_dir);
  std::vector<NeededFile> files = FilesOf(flags.doors);
  files.push_back({run_directory, FileUse::kMeets});
  files.push_back({StateDirectory(flags.state_dir, run_directory), FileUse::kMakes});
  if (!flags.audit.empty()) files.push_back({flags.audit, FileUse::kMakes});
  for (const std::string& agent : flags.agents) {
    if (const std::string path = SocketPath(agent); !path.empty()) {
      files.push_back({path, FileUse::kMeets});
    }
  }
  std::vector<int> needed;
  if (!flags.doors.tls_listen.empty() || !flags.web.empty()) needed.push_back(CAP_NET_BIND_SERVICE);
  return KeepCapabilities(needed, files);
}

absl::Status Run(const Flags& flags, Logger& logger) {
  if (absl::Status status = GiveUpPrivileges(flags); !status.ok()) return status;
  TakeShortSlices();
  const StopSignal stop;
  absl::StatusOr<std::string> web_address = std::string();
  if (!flags.web.empty()) web_address = WebAddress(flags.web);
  if (!web_address.ok()) return web_address.status();
  const std::string run_directory = RunDirectory(flags.run_dir);
  if (absl::Status status = CheckRunDirectory(run_directory); !status.ok()) return status;
  const absl::StatusOr<Doors> doors =
      DoorsOf(flags.doors, SocketAddress(run_directory, "controller"), Role::kViewer);
  if (!doors.ok()) return doors.status();
  // The lock comes before data planes are asked: a second controller must not get that far.
  for (const std::string& address : doors->sockets) {
    if (absl::Status status = PrepareSocket(address); !status.ok()) return status;
  }
  const absl::StatusOr<ControllerLock> lock = ControllerLock::Take(run_directory);
  if (!lock.ok()) return lock.status();
  const std::string state_directory = StateDirectory(flags.state_dir, run_directory);
  const absl::StatusOr<StateLock> state_lock = StateLock::Take(state_directory);
  if (!state_lock.ok()) return state_lock.status();
  GrpcServer::Options server_options;
  // Only health checks and reflection take threads of gRPC's own.
  server_options.max_threads = 32;
  // A batch over a million circuits is one message of some 12 MB, a permutation of 6 MB.
  server_options.max_message_bytes = 32 << 20;
  server_options.max_bytes = 64 << 20;
  server_options.max_calls_of_connection = 4096;
  doors->Fill(server_options);
  const absl::StatusOr<std::unique_ptr<AuditLog>> audit =
      AuditLog::Open(flags.audit.empty() ? state_directory + "/audit.log" : flags.audit);
  if (!audit.ok()) return audit.status();
  server_options.audit = audit->get();

  Controller::Options options;
  options.run_directory = run_directory;
  options.state_directory = state_directory;
  options.resume = flags.resume;
  options.agents = flags.agents;
  options.caller.tls = flags.doors.tls;
  options.look_time = std::chrono::milliseconds(static_cast<int64_t>(1000 * flags.look_time));
  options.late_looks = flags.late_looks;
  options.caller.owner.set_id(lock->id());
  options.caller.owner.set_name(absl::StrCat("process ", getpid(), " of ", HostName(),
                                             " with run directory ", run_directory));
  const absl::StatusOr<uint64_t> operator_id = WriteOperatorId(run_directory);
  if (!operator_id.ok()) return operator_id.status();
  options.operator_id = *operator_id;
  const std::shared_ptr<EventLog> events = options.events;
  EventLogger event_logger(*events, logger.level(),
                           [&logger](const LogRecord& record) { logger.Write(record); });
  ScheduleControl::Options schedule_options{.caller = options.caller, .events = events};
  const AgentCaller caller = options.caller;
  Controller controller(std::move(options));
  schedule_options.write_now = [&controller] { controller.WriteIntent(); };
  ScheduleControl schedule_control(controller.intent(), std::move(schedule_options));
  CounterPoll poll(controller);
  CallDesk desk(controller.resources(), doors->gate.get());
  FabricService fabric(controller, poll, desk);
  EventsService events_service(*events, controller.resources(), desk);
  CapturesService captures(controller, schedule_control, caller, desk);
  CircuitsService circuits(controller, desk);
  DataServerService data_server(controller, desk);
  ProgramsService programs(controller, desk);
  SchedulesService schedules(schedule_control, desk);
  TelemetryService telemetry(poll, desk);
  TrafficService traffic(controller, desk);
  // The page comes first: if its address is taken, nobody has seen this controller yet.
  std::atomic<GrpcServer*> started = nullptr;
  absl::StatusOr<std::unique_ptr<WebPage>> page = ServePage(*web_address, run_directory, started);
  if (!page.ok()) return page.status();
  absl::StatusOr<std::unique_ptr<GrpcServer>> server = GrpcServer::Start(
      server_options, {&captures, &events_service, &fabric, &circuits, &data_server, &programs,
                       &schedules, &telemetry, &traffic});
  if (!server.ok()) return server.status();
  started.store(server->get(), std::memory_order_release);
  std::cout << "controller answers at " << absl::StrJoin(doors->addresses(), ", ") << std::endl;
  if (*page != nullptr) {
    std::cout << "web page at " << (*page)->url() << ", token in " << (*page)->token_path()
              << std::endl;
  }

  // The controller serves as long as it runs. Circuits can be set up, and programs run, only while
  // every data plane is there.
  for (const char* service : {"bfly.v1.Captures", "bfly.v1.Events", "bfly.v1.Fabric",
                              "bfly.v1.Telemetry", "bfly.v1.Traffic"}) {
    (*server)->SetServing(service, true);
  }
  ServiceNotice notice;
  notice.Ready(StatusText(controller));
  QueuePulse pulse(controller.queue(), notice);
  std::optional<bool> told;
  do {
    if (notice.has_listener()) notice.SetStatus(StatusText(controller));
    pulse.Feel();
    const bool usable = controller.all_usable();
    for (const char* service :
         {"bfly.v1.Circuits", "bfly.v1.DataServer", "bfly.v1.Programs", "bfly.v1.Schedules"}) {
      if (told != usable) (*server)->SetServing(service, usable);
    }
    told = usable;
  } while (!stop.WaitFor(pulse.interval()));
  notice.Stopping();
  page->reset();
  (*server)->Stop();
  RemoveOperatorId(run_directory);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app;
  Flags flags;
  Declare(app, flags);
  CLI11_PARSE(app, argc, argv);
  Logger logger("bfly-controller", flags.log);
  const absl::Status status = Run(flags, logger);
  if (status.ok()) return 0;
  logger.Write({.level = LogLevel::kError, .text = std::string(status.message())});
  return 1;
}

}  // namespace
}  // namespace bfly::control

int main(int argc, char** argv) { return bfly::control::Main(argc, argv); }
