// SPDX-License-Identifier: Apache-2.0
// bfly port add|remove|list: host ports of the running fabric.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"

namespace bfly::control {
namespace {

constexpr char kHeading[] = "%-12s %-10s %-12s %-6s %-8s %s\n";

void PrintPort(const v1::AttachedPort& attached) {
  const v1::HostPort& port = attached.port();
  const std::string lcores =
      attached.has_status() ? absl::StrJoin(attached.status().lcores(), ",") : "-";
  printf(kHeading, port.name().c_str(), port.data_plane().c_str(), port.rows().c_str(),
         absl::StrCat(port.queue_pairs()).c_str(), lcores.c_str(),
         absl::StrCat(port.device(), attached.added() ? " (added)" : "").c_str());
}

void PrintHeading() {
  printf(kHeading, "port", "data plane", "rows", "queues", "lcores", "device");
}

struct NewPort {
  v1::HostPort port;
  std::vector<uint32_t> lcores;
  bool keep_mac = false;
};

void AddPortAdd(CLI::App& group, Invocation& invocation) {
  CLI::App* verb = NewVerb(group, invocation, "add",
                           "Add a host port to the running fabric; other ports lose no packet",
                           "bfly port add h4 --device net_af_xdp,iface=bf4 --rows 4");
  TakesElectionId(verb, invocation);
  auto wanted = std::make_shared<NewPort>();
  const auto text = [&](const std::string& option, const std::string& help, auto set) {
    return verb->add_option_function<std::string>(
        option, [wanted, set](const std::string& value) { set(wanted->port, value); }, help);
  };
  text("name", "Name of the port",
       [](v1::HostPort& port, const std::string& value) { port.set_name(value); })
      ->required()
      ->type_name("NAME");
  text("--device", "DPDK device string, or a PCI address",
       [](v1::HostPort& port, const std::string& value) { port.set_device(value); })
      ->required();
  text("--rows", "Rows attached to it, as ranges",
       [](v1::HostPort& port, const std::string& value) { port.set_rows(value); })
      ->required();
  verb->add_option_function<uint32_t>(
      "--queue-pairs", [wanted](const uint32_t& pairs) { wanted->port.set_queue_pairs(pairs); },
      "Queue pairs, each polled by one worker; left out: 1");
  AddRanges(*verb, "--lcores", wanted->lcores,
            "lcores that poll its queues, in turn; left out: those that run its rows");
  text("--data-plane", "Data plane; may be left out if there is one",
       [](v1::HostPort& port, const std::string& value) { port.set_data_plane(value); });
  verb->add_flag("--row-address", wanted->keep_mac,
                 "Hosts use the address of their row; otherwise, where the port has one row and "
                 "frames go by MAC address, hosts keep their own");
  verb->callback([&invocation, wanted] {
    invocation.action = [common = invocation.common, wanted]() -> absl::Status {
      v1::AddPortRequest request;
      *request.mutable_port() = wanted->port;
      request.mutable_port()->mutable_lcores()->Add(wanted->lcores.begin(), wanted->lcores.end());
      if (wanted->keep_mac) request.mutable_port()->set_translate_mac(false);
      v1::AddPortResponse response;
      auto stub = v1::Fabric::NewStub(Connect(common));
      const absl::Status status =
          Call(stub.get(), &v1::Fabric::Stub::AddPort, request, &response, common);
      if (!status.ok()) return status;
      if (common.json) return PrintJson(response);
      PrintHeading();
      PrintPort(response.port());
      return absl::OkStatus();
    };
  });
}

void AddPortRemove(CLI::App& group, Invocation& invocation) {
  CLI::App* verb = NewVerb(group, invocation, "remove",
                           "Remove a host port from the running fabric; packets that arrive at its "
                           "rows are dropped as no_port_at_row",
                           "bfly port remove h4");
  TakesElectionId(verb, invocation);
  auto name = std::make_shared<std::string>();
  verb->add_option("name", *name, "Name of the port")->required()->type_name("PORT-NAME");
  verb->callback([&invocation, name] {
    invocation.action = [common = invocation.common, name]() -> absl::Status {
      v1::RemovePortRequest request;
      request.set_name(*name);
      v1::RemovePortResponse response;
      auto stub = v1::Fabric::NewStub(Connect(common));
      const absl::Status status =
          Call(stub.get(), &v1::Fabric::Stub::RemovePort, request, &response, common);
      if (!status.ok()) return status;
      if (common.json) return PrintJson(response);
      printf("port %s of rows %s is removed\n", name->c_str(),
             response.port().port().rows().c_str());
      return absl::OkStatus();
    };
  });
}

void AddPortList(CLI::App& group, Invocation& invocation) {
  CLI::App* verb = NewVerb(group, invocation, "list", "Show the host ports of the running fabric",
                           "bfly port list");
  verb->callback([&invocation] {
    invocation.action = [common = invocation.common]() -> absl::Status {
      v1::GetPortsResponse response;
      auto stub = v1::Fabric::NewStub(Connect(common));
      const absl::Status status =
          Call(stub.get(), &v1::Fabric::Stub::GetPorts, v1::GetPortsRequest(), &response, common);
      if (!status.ok()) return status;
      if (common.json) return PrintJson(response);
      if (response.ports().empty()) {
        printf("(the fabric has no host port)\n");
        return absl::OkStatus();
      }
      PrintHeading();
      for (const v1::AttachedPort& port : response.ports()) PrintPort(port);
      return absl::OkStatus();
    };
  });
}

}  // namespace

void AddPort(CLI::App& app, Invocation& invocation) {
  CLI::App* group = NewGroup(app, "port", "Add host ports to the running fabric, remove them",
                             "bfly port add h4 --device net_af_xdp,iface=bf4 --rows 4");
  AddPortAdd(*group, invocation);
  AddPortRemove(*group, invocation);
  AddPortList(*group, invocation);
}

}  // namespace bfly::control
