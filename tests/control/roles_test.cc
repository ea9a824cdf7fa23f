// SPDX-License-Identifier: Apache-2.0
// The role that callers of each method of the controller need.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "control/access/gate.h"
#include "control/controller/schedule_control.h"
#include "control/services/captures_service.h"
#include "control/services/schedules_service.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

// docs/access.md has the rule: viewers read and make dry runs of step programs, operators change
// the fabric and capture frames, and the primary role has a role of its own.
const std::map<std::string, Role> kRoles{
    {"/bfly.v1.Captures/Capture", Role::kOperator},
    {"/bfly.v1.Circuits/List", Role::kViewer},
    {"/bfly.v1.Circuits/Move", Role::kOperator},
    {"/bfly.v1.Circuits/Release", Role::kOperator},
    {"/bfly.v1.Circuits/RoutePermutation", Role::kOperator},
    {"/bfly.v1.Circuits/SetUp", Role::kOperator},
    {"/bfly.v1.Circuits/SetUpBatch", Role::kOperator},
    {"/bfly.v1.Circuits/Stream", Role::kOperator},
    {"/bfly.v1.Circuits/Watch", Role::kViewer},
    {"/bfly.v1.DataServer/List", Role::kViewer},
    {"/bfly.v1.DataServer/Place", Role::kOperator},
    {"/bfly.v1.DataServer/Release", Role::kOperator},
    {"/bfly.v1.DataServer/ReleaseBatch", Role::kOperator},
    {"/bfly.v1.DataServer/Request", Role::kOperator},
    {"/bfly.v1.DataServer/RequestBatch", Role::kOperator},
    {"/bfly.v1.DataServer/Status", Role::kViewer},
    {"/bfly.v1.DataServer/Stream", Role::kOperator},
    {"/bfly.v1.Events/Watch", Role::kViewer},
    {"/bfly.v1.Fabric/AddPort", Role::kOperator},
    {"/bfly.v1.Fabric/Arbitrate", Role::kPrimary},
    {"/bfly.v1.Fabric/Describe", Role::kViewer},
    {"/bfly.v1.Fabric/GetLinks", Role::kViewer},
    {"/bfly.v1.Fabric/GetPorts", Role::kViewer},
    {"/bfly.v1.Fabric/Load", Role::kOperator},
    {"/bfly.v1.Fabric/RemovePort", Role::kOperator},
    {"/bfly.v1.Fabric/SetLinkState", Role::kOperator},
    {"/bfly.v1.Fabric/SetLinks", Role::kOperator},
    {"/bfly.v1.Fabric/SetNodeState", Role::kOperator},
    {"/bfly.v1.Fabric/Status", Role::kViewer},
    {"/bfly.v1.Fabric/Unload", Role::kOperator},
    // It has data planes look at their devices.
    {"/bfly.v1.Fabric/Verify", Role::kOperator},
    {"/bfly.v1.Programs/DryRun", Role::kViewer},
    {"/bfly.v1.Programs/Route", Role::kOperator},
    {"/bfly.v1.Schedules/Get", Role::kViewer},
    {"/bfly.v1.Schedules/Repair", Role::kOperator},
    {"/bfly.v1.Schedules/Start", Role::kOperator},
    {"/bfly.v1.Schedules/Stop", Role::kOperator},
    {"/bfly.v1.Telemetry/GetCounters", Role::kViewer},
    {"/bfly.v1.Telemetry/Subscribe", Role::kViewer},
    {"/bfly.v1.Traffic/List", Role::kViewer},
    {"/bfly.v1.Traffic/Start", Role::kOperator},
    {"/bfly.v1.Traffic/Stop", Role::kOperator},
};

// All services of the controller, as bfly-controller makes them.
struct Services {
  explicit Services(Controller& controller)
      : schedule_control(controller.intent(),
                         {.caller = {}, .watch_interval = std::chrono::hours(1)}),
        poll(controller, PollOnlyWhenAsked()),
        desk(controller.resources(), &gate),
        captures(controller, schedule_control, {}, desk),
        circuits(controller, desk),
        data_server(controller, desk),
        events(controller.events(), controller.resources(), desk),
        fabric(controller, poll, desk),
        programs(controller, desk),
        schedules(schedule_control, desk),
        telemetry(poll, desk),
        traffic(controller, desk) {}

  Gate gate{AccessRules()};
  ScheduleControl schedule_control;
  CounterPoll poll;
  CallDesk desk;
  CapturesService captures;
  CircuitsService circuits;
  DataServerService data_server;
  EventsService events;
  FabricService fabric;
  ProgramsService programs;
  SchedulesService schedules;
  TelemetryService telemetry;
  TrafficService traffic;
};

// The methods of the services for clients.
std::set<std::string> Methods() {
  std::set<std::string> methods;
  for (const char* name : {"capture", "circuits", "data_server", "events", "fabric", "programs",
                           "schedules", "telemetry", "traffic"}) {
    const google::protobuf::FileDescriptor* file =
        google::protobuf::DescriptorPool::generated_pool()->FindFileByName(
            "bfly/v1/" + std::string(name) + ".proto");
    if (file == nullptr) {
      ADD_FAILURE() << "the program has no description of " << name << ".proto";
      continue;
    }
    for (int i = 0; i < file->service_count(); ++i) {
      const google::protobuf::ServiceDescriptor* service = file->service(i);
      // Data planes serve these, for their controller alone.
      if (std::string(service->name()).rfind("Agent", 0) == 0) continue;
      for (int k = 0; k < service->method_count(); ++k) {
        methods.insert("/" + std::string(service->full_name()) + "/" +
                       std::string(service->method(k)->name()));
      }
    }
  }
  return methods;
}

TEST(Roles, CallersOfEveryMethodNeedTheRoleThatIsWrittenHere) {
  TemporaryFolder directory;
  TestController controller(directory.path());
  const auto services = std::make_unique<Services>(controller.controller());
  const std::set<std::string> methods = Methods();
  for (const std::string& method : methods) {
    const auto role = kRoles.find(method);
    if (role == kRoles.end()) {
      ADD_FAILURE() << method << " has no role here";
      continue;
    }
    EXPECT_EQ(std::string(NameOf(services->gate.RoleOf(method))), NameOf(role->second)) << method;
  }
  EXPECT_EQ(methods.size(), kRoles.size()) << "a method here is gone";
}

}  // namespace
}  // namespace bfly::control
