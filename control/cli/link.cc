// SPDX-License-Identifier: Apache-2.0
// bfly link up|down: takes one link of the emulated network down and brings it back.
#include <cstdio>

#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"

namespace bfly::control {
namespace {

void AddState(CLI::App& group, Invocation& invocation, bool up) {
  CLI::App* verb =
      NewVerb(group, invocation, up ? "up" : "down",
              up ? "Bring a link back" : "Take a link down: what comes to it is dropped",
              up ? "bfly link up 3 5 1" : "bfly link down 3 5 1");
  struct Ends {
    uint32_t stage = 0, row = 0, port = 0;
  };
  auto ends = std::make_shared<Ends>();
  verb->add_option("stage", ends->stage, "Stage the link belongs to, from 0")->required();
  verb->add_option("row", ends->row, "Row it leaves")->required();
  verb->add_option("port", ends->port, "Port it leaves by: the bit it sets")
      ->required()
      ->check(CLI::Range(0u, 1u));
  verb->callback([&invocation, ends, up] {
    invocation.action = [common = invocation.common, ends, up] {
      auto stub = v1::Fabric::NewStub(Connect(common));
      v1::SetLinkStateRequest request;
      request.set_stage(ends->stage);
      request.set_row(ends->row);
      request.set_port(ends->port);
      request.set_up(up);
      v1::SetLinkStateResponse response;
      const absl::Status status =
          Call(stub.get(), &v1::Fabric::Stub::SetLinkState, request, &response, common);
      if (!status.ok()) return status;
      if (common.json) return PrintJson(request);
      printf("link of stage %u, row %u, port %u is %s\n", ends->stage, ends->row, ends->port,
             up ? "up" : "down");
      return absl::OkStatus();
    };
  });
}

}  // namespace

void AddLink(CLI::App& app, Invocation& invocation) {
  CLI::App* group =
      NewGroup(app, "link", "Take links down and bring them back", "bfly link down 3 5 1");
  AddState(*group, invocation, true);
  AddState(*group, invocation, false);
}

}  // namespace bfly::control
