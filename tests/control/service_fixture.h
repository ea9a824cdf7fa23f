// SPDX-License-Identifier: Apache-2.0
// A whole control plane in one process: agents and a controller as real gRPC servers at Unix
// sockets, in a directory that belongs to the test.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bfly/v1/agent.grpc.pb.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "bfly/v1/data_server.grpc.pb.h"
#include "bfly/v1/events.grpc.pb.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/programs.grpc.pb.h"
#include "bfly/v1/telemetry.grpc.pb.h"
#include "bfly/v1/traffic.grpc.pb.h"
#include "control/agent/agent_schedules.h"
#include "control/agent/agent_service.h"
#include "control/agent/update_socket.h"
#include "control/controller/controller.h"
#include "control/events/event_words.h"
#include "control/server/address.h"
#include "control/server/grpc_server.h"
#include "control/services/circuits_service.h"
#include "control/services/counter_poll.h"
#include "control/services/data_server_service.h"
#include "control/services/events_service.h"
#include "control/services/fabric_service.h"
#include "control/services/programs_service.h"
#include "control/services/telemetry_service.h"
#include "control/services/traffic_service.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"
#include "tests/control/fake_fabric.h"
#include "tests/temporary_folder.h"

namespace bfly::control {

inline std::unique_ptr<GrpcServer> MustStart(const std::string& address,
                                             const std::vector<grpc::Service*>& services) {
  GrpcServer::Options options;
  options.sockets = {address};
  auto server = GrpcServer::Start(options, services);
  if (!server.ok()) {
    ADD_FAILURE() << server.status();
    return nullptr;
  }
  return *std::move(server);
}

// The servers of a test lie on the heap. ThreadSanitizer is not told when a std::mutex ends, so
// that two that lie at the same place of the stack, one after the other, are one to it, and the
// orders in which tests take them look like a deadlock. It is told when memory is freed.

// A data plane: the agent over a fabric of `backend`. Destroying it looks like a kill.
class TestAgent {
 public:
  // `schedules` is its AgentSchedules; null: that of the backend's fabric.
  TestAgent(const std::string& directory, const std::string& name, FabricBackend backend,
            grpc::Service* schedules = nullptr)
      : server_(std::make_unique<Server>(directory, name, std::move(backend), asked_to_end,
                                         schedules)) {}

  FabricHost& host() { return server_->host; }
  std::atomic<bool> asked_to_end = false;

 private:
  struct Server {
    Server(const std::string& directory, const std::string& name, FabricBackend backend,
           std::atomic<bool>& asked_to_end, grpc::Service* other_schedules)
        : host(std::move(backend), name),
          service(host, {"no hugepages (slower)", "DPDK of the test"},
                  [&asked_to_end] { asked_to_end = true; }),
          schedules(host),
          server(MustStart(SocketAddress(directory, name),
                           {&service, other_schedules != nullptr ? other_schedules : &schedules})),
          updates(UpdateSocket::Start(SocketAddress(directory, name), host)) {
      EXPECT_TRUE(updates.ok()) << updates.status();
    }

    FabricHost host;
    AgentService service;
    AgentSchedulesService schedules;
    std::unique_ptr<GrpcServer> server;
    absl::StatusOr<std::unique_ptr<UpdateSocket>> updates;
  };

  std::unique_ptr<Server> server_;
};

// In tests no other client reads the counters.
inline CounterPoll::Options PollOnlyWhenAsked() { return {.idle_interval = std::chrono::hours(1)}; }

// When a controller takes a data plane for gone (ControllerOptions).
struct LookRule {
  std::chrono::milliseconds time{2'000};
  int late = 3;
};

class TestController {
 public:
  explicit TestController(const std::string& directory, int watch_interval_ms = 20,
                          CounterPoll::Options poll = PollOnlyWhenAsked(),
                          std::vector<std::string> agents = {}, LookRule looks = {},
                          std::chrono::milliseconds worker_patience = std::chrono::minutes(5))
      : server_(std::make_unique<Server>(
            directory,
            ControllerOptions{.run_directory = directory,
                              .agents = std::move(agents),
                              .caller = {},
                              .watch_interval = std::chrono::milliseconds(watch_interval_ms),
                              .look_time = looks.time,
                              .late_looks = looks.late,
                              .worker_patience = worker_patience},
            std::move(poll))),
        channel(grpc::CreateChannel(SocketAddress(directory, "controller"),
                                    grpc::InsecureChannelCredentials())),
        fabric(v1::Fabric::NewStub(channel)),
        circuits(v1::Circuits::NewStub(channel)),
        data_server(v1::DataServer::NewStub(channel)),
        programs(v1::Programs::NewStub(channel)),
        telemetry(v1::Telemetry::NewStub(channel)),
        traffic(v1::Traffic::NewStub(channel)),
        events(v1::Events::NewStub(channel)) {}

  Controller& controller() { return server_->controller; }
  // Whether the words of an event have `text`.
  bool Logged(const std::string& text) {
    EventCursor cursor = controller().events().BeginAt({.since = 0}).cursor;
    while (const auto next = controller().events().Read(cursor)) {
      if (WordsOf(*next->event).find(text) != std::string::npos) return true;
    }
    return false;
  }

 private:
  struct Server {
    Server(const std::string& directory, ControllerOptions options,
           CounterPoll::Options poll_options)
        : controller(std::move(options)),
          poll(controller, std::move(poll_options)),
          desk(controller.resources()),
          events_service(controller.events(), controller.resources(), desk),
          fabric_service(controller, poll, desk),
          circuits_service(controller, desk),
          data_server_service(controller, desk),
          programs_service(controller, desk),
          telemetry_service(poll, desk),
          traffic_service(controller, desk),
          server(
              MustStart(SocketAddress(directory, "controller"),
                        {&events_service, &fabric_service, &circuits_service, &data_server_service,
                         &programs_service, &telemetry_service, &traffic_service})) {}

    Controller controller;
    CounterPoll poll;
    CallDesk desk;
    EventsService events_service;
    FabricService fabric_service;
    CircuitsService circuits_service;
    DataServerService data_server_service;
    ProgramsService programs_service;
    TelemetryService telemetry_service;
    TrafficService traffic_service;
    std::unique_ptr<GrpcServer> server;
  };

  std::unique_ptr<Server> server_;

 public:
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Fabric::Stub> fabric;
  std::unique_ptr<v1::Circuits::Stub> circuits;
  std::unique_ptr<v1::DataServer::Stub> data_server;
  std::unique_ptr<v1::Programs::Stub> programs;
  std::unique_ptr<v1::Telemetry::Stub> telemetry;
  std::unique_ptr<v1::Traffic::Stub> traffic;
  std::unique_ptr<v1::Events::Stub> events;
};

// Every call of a test ends.
inline std::chrono::steady_clock::time_point InAMinute() {
  return std::chrono::steady_clock::now() + std::chrono::minutes(1);
}
inline void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
}

// Call(*stub, &v1::Circuits::Stub::SetUp, request) returns the response, or the status with its
// fields.
template <class Stub, class Request, class Response>
absl::StatusOr<Response> Call(Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              const Request& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  Response response;
  const absl::Status status = FromGrpc((stub.*method)(&context, request, &response));
  if (!status.ok()) return status;
  return response;
}

// The fields that the details of an error name.
inline std::vector<std::string> FieldsOf(const absl::Status& status) {
  std::vector<std::string> fields;
  for (const FieldError& error : FieldErrorsOf(status)) fields.push_back(error.field);
  return fields;
}

// Polls until the condition holds. Returns false after two minutes.
inline bool Eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Waits until the controller has ended all calls that take one of its threads. A client whose time
// is over hears so from its own clock: gRPC tells the server how much time is left and not the
// moment, so the server may still be at the call, or may not have seen it yet. It has seen all
// calls of a connection when it answers a later one.
inline bool AllCallsEnd(TestController& controller) {
  Call(*controller.fabric, &v1::Fabric::Stub::GetLinks, v1::GetLinksRequest())
      .status()
      .IgnoreError();
  const auto& resources = controller.controller().resources();
  return Eventually(
      [&] { return resources.calls.in_use() == 0 && resources.programs.in_use() == 0; });
}

// A two-fold butterfly of 16 rows and 8 stages, all on dp0, or split in the middle over dp0 and
// dp1.
inline v1::Topology SmallTopology(bool split = false, uint32_t rows = 16) {
  v1::Topology topology;
  topology.set_name("test");
  topology.mutable_network()->set_kind(v1::TWO_FOLD_BUTTERFLY);
  topology.mutable_network()->set_rows(rows);
  topology.mutable_network()->set_seed(7);
  int stages = 0;
  for (uint32_t n = rows; n > 1; n /= 2) stages += 2;
  const auto place = [&](int first, int last, const std::string& plane) {
    v1::StagePlacement* placement = topology.add_placement();
    placement->set_stages(std::to_string(first) + "-" + std::to_string(last));
    placement->set_data_plane(plane);
  };
  topology.add_data_planes()->set_name("dp0");
  if (!split) {
    place(0, stages - 1, "dp0");
    return topology;
  }
  topology.add_data_planes()->set_name("dp1");
  place(0, stages / 2 - 1, "dp0");
  place(stages / 2, stages - 1, "dp1");
  v1::Trunk* trunk = topology.add_trunks();
  trunk->set_name("t0");
  trunk->set_after_stage(stages / 2 - 1);
  trunk->set_from("dp0");
  trunk->set_from_device("net_memif0,role=server,id=0");
  trunk->set_to("dp1");
  trunk->set_to_device("net_memif0,role=client,id=0");
  return topology;
}

// A data server on one data plane.
inline v1::Topology RandomlyWired(uint32_t rows) {
  v1::Topology topology = SmallTopology(false, rows);
  topology.mutable_network()->set_kind(v1::RANDOMLY_WIRED_BUTTERFLY);
  int stages = 0;
  for (uint32_t n = rows; n > 1; n /= 2) ++stages;
  topology.mutable_placement(0)->set_stages("0-" + std::to_string(stages - 1));
  return topology;
}

inline absl::Status Load(TestController& controller, const v1::Topology& topology,
                         bool replace = false, uint64_t election_id = 0) {
  v1::LoadRequest request;
  *request.mutable_topology() = topology;
  request.set_replace(replace);
  request.set_election_id(election_id);
  return Call(*controller.fabric, &v1::Fabric::Stub::Load, request).status();
}

inline absl::StatusOr<v1::SetUpResponse> SetUpCircuit(TestController& controller, Row input,
                                                      Row output, uint64_t election_id = 0,
                                                      const std::string& key = "") {
  v1::SetUpRequest request;
  request.set_input(input);
  request.set_output(output);
  request.set_election_id(election_id);
  request.set_idempotency_key(key);
  return Call(*controller.circuits, &v1::Circuits::Stub::SetUp, request);
}

inline absl::StatusOr<v1::ReleaseResponse> ReleaseCircuit(TestController& controller, uint64_t id,
                                                          uint64_t election_id = 0) {
  v1::ReleaseRequest request;
  request.set_id(id);
  request.set_election_id(election_id);
  return Call(*controller.circuits, &v1::Circuits::Stub::Release, request);
}

inline std::vector<v1::Circuit> List(TestController& controller) {
  v1::ListRequest request;
  request.set_page_size(10'000);
  const auto response = Call(*controller.circuits, &v1::Circuits::Stub::List, request);
  EXPECT_TRUE(response.ok()) << response.status();
  if (!response.ok()) return {};
  return {response->circuits().begin(), response->circuits().end()};
}

inline v1::FabricStatus StatusOf(TestController& controller) {
  const auto response = Call(*controller.fabric, &v1::Fabric::Stub::Status, v1::StatusRequest());
  EXPECT_TRUE(response.ok()) << response.status();
  return response.ok() ? response->status() : v1::FabricStatus();
}

// What the controller lists, what telemetry counts and what the data plane holds, all at one
// moment.
struct CircuitBooks {
  std::vector<v1::Circuit> circuits;
  v1::Counters counters;
  std::map<uint32_t, uint64_t> held;  // circuit id by input; empty without an ingress
};

// Calls whose clients have left may still be carried out. So it reads until nothing has changed
// between the first and the last read, and the data plane, which learns of changes first, has
// nothing that is not listed yet. Ids are never reused.
inline CircuitBooks ReadBooks(TestController& controller, TestAgent* ingress) {
  const auto ids = [](const std::vector<v1::Circuit>& circuits) {
    std::set<uint64_t> all;
    for (const v1::Circuit& circuit : circuits) all.insert(circuit.id());
    return all;
  };
  CircuitBooks books;
  EXPECT_TRUE(Eventually([&] {
    books.circuits = List(controller);
    const auto counters =
        Call(*controller.telemetry, &v1::Telemetry::Stub::GetCounters, v1::GetCountersRequest());
    EXPECT_TRUE(counters.ok()) << counters.status();
    if (!counters.ok()) return true;
    books.counters = *counters;
    books.held.clear();
    if (ingress != nullptr) {
      for (const HeldCircuit& circuit : ingress->host().held(true).circuits) {
        books.held[circuit.input] = circuit.id;
      }
    }
    std::set<uint64_t> held;
    for (const auto& [input, id] : books.held) held.insert(id);
    const std::set<uint64_t> listed = ids(books.circuits);
    return (ingress == nullptr || held == listed) && ids(List(controller)) == listed;
  })) << "the books never agree";
  return books;
}

// The circuits on every link in telemetry equal a recount from the rows of the listed circuits, and
// the data plane holds exactly these circuits.
inline void ExpectCountsEqualRecount(TestController& controller, TestAgent* ingress) {
  const CircuitBooks books = ReadBooks(controller, ingress);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> recount;  // (stage, row, next row)
  for (const v1::Circuit& circuit : books.circuits) {
    for (int level = 0; level + 1 < circuit.rows_size(); ++level) {
      ++recount[{level, circuit.rows(level), circuit.rows(level + 1)}];
    }
  }
  ASSERT_GT(books.counters.links_size(), 0);
  for (const v1::LinkCounters& link : books.counters.links()) {
    const auto found = recount.find({link.stage(), link.row(), link.next_row()});
    ASSERT_EQ(link.circuits(), found == recount.end() ? 0 : found->second)
        << "s" << link.stage() << " r" << link.row() << " p" << link.port();
  }
  if (ingress == nullptr) return;
  std::map<uint32_t, uint64_t> wanted;
  for (const v1::Circuit& circuit : books.circuits) wanted[circuit.input()] = circuit.id();
  EXPECT_EQ(books.held, wanted);
}

}  // namespace bfly::control
