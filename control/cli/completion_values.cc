// SPDX-License-Identifier: Apache-2.0
// bfly values: what the completion files ask the running fabric for. It is not in the help.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/telemetry.grpc.pb.h"
#include "bfly/v1/traffic.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/completion.h"
#include "control/cli/verb.h"

namespace bfly::control {
namespace {

// Somebody waits at a key for these, and no screen shows more of them.
constexpr std::chrono::seconds kValuesPatience{1};
constexpr uint32_t kMostValues = 200;

// Calls once, with little patience: nobody reads the error.
template <class Stub, class Request, class Response>
bool Ask(Stub* stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
         const Request& request, Response* response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kValuesPatience);
  return (stub->*method)(&context, request, response).ok();
}

std::vector<std::string> Circuits(const Common& common) {
  v1::ListRequest request;
  request.set_page_size(kMostValues);
  v1::ListResponse answer;
  std::vector<std::string> ids;
  if (Ask(v1::Circuits::NewStub(Connect(common)).get(), &v1::Circuits::Stub::List, request,
          &answer))
    for (const v1::Circuit& circuit : answer.circuits()) ids.push_back(absl::StrCat(circuit.id()));
  return ids;
}

std::vector<std::string> Sources(const Common& common) {
  v1::ListTrafficResponse answer;
  std::vector<std::string> names;
  if (Ask(v1::Traffic::NewStub(Connect(common)).get(), &v1::Traffic::Stub::List,
          v1::ListTrafficRequest(), &answer)) {
    for (const v1::TrafficSourceStatus& source : answer.sources())
      if (!source.source().name().empty()) names.push_back(source.source().name());
  }
  return names;
}

// The fullest links in the form that has no space, stage,row,port.
std::vector<std::string> Links(const Common& common) {
  v1::GetCountersRequest request;
  request.mutable_filter()->set_top(kMostValues);
  v1::Counters answer;
  std::vector<std::string> links;
  if (Ask(v1::Telemetry::NewStub(Connect(common)).get(), &v1::Telemetry::Stub::GetCounters, request,
          &answer)) {
    for (const v1::LinkCounters& link : answer.links())
      links.push_back(absl::StrCat(link.stage(), ",", link.row(), ",", link.port()));
  }
  return links;
}

std::vector<std::string> HostPorts(const Common& common) {
  v1::GetPortsResponse answer;
  std::vector<std::string> names;
  if (Ask(v1::Fabric::NewStub(Connect(common)).get(), &v1::Fabric::Stub::GetPorts,
          v1::GetPortsRequest(), &answer)) {
    for (const v1::AttachedPort& port : answer.ports()) names.push_back(port.port().name());
  }
  return names;
}

}  // namespace

void AddCompletionValues(CLI::App& app, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(app, invocation, "values", "Print values of the running fabric for a completion file",
              "bfly values circuits");
  verb->group("");
  auto kind = std::make_shared<std::string>();
  verb->add_option("kind", *kind, "Which")
      ->required()
      ->check(CLI::IsMember({kCircuitValues, kSourceValues, kLinkValues, kPortValues}));
  verb->callback([&invocation, kind] {
    invocation.action = [common = invocation.common, kind] {
      for (const std::string& value : *kind == kCircuitValues  ? Circuits(common)
                                      : *kind == kSourceValues ? Sources(common)
                                      : *kind == kPortValues   ? HostPorts(common)
                                                               : Links(common))
        printf("%s\n", value.c_str());
      return absl::OkStatus();
    };
  });
}

}  // namespace bfly::control
