// SPDX-License-Identifier: Apache-2.0
// bfly link set|show|up|down: what links are like, and whether they are there.
#include <cstdio>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/topology_file/link_policy.h"

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

void PrintGroups(const google::protobuf::RepeatedPtrField<v1::LinkGroup>& groups) {
  printf("%-10s %-14s %-5s %-12s %-10s %11s %-18s %s\n", "stages", "rows", "ports", "rate", "delay",
         "queue limit", "discipline", "loss");
  for (const v1::LinkGroup& g : groups) {
    printf("%-10s %-14s %-5s %-12s %-10s %11s %-18s %g\n", g.stages().c_str(), g.rows().c_str(),
           g.ports().c_str(), g.rate().c_str(), g.delay().c_str(),
           g.queue_limit() == 0 ? "none" : std::to_string(g.queue_limit()).c_str(),
           absl::AsciiStrToLower(v1::LinkPolicy::Discipline_Name(g.discipline())).c_str(),
           g.loss());
  }
}

struct Change {
  std::string selector;
  std::string rate, delay, discipline;
  std::optional<uint32_t> queue_limit;
  std::optional<double> loss;
};

absl::StatusOr<v1::LinkOverride> ToOverride(const Change& change) {
  absl::StatusOr<v1::LinkOverride> out = ParseLinkSelector(change.selector);
  if (!out.ok()) return out.status();
  out->set_rate(change.rate);
  out->set_delay(change.delay);
  if (change.queue_limit) out->set_queue_limit(*change.queue_limit);
  if (change.loss) out->set_loss(*change.loss);
  v1::LinkPolicy::Discipline discipline;
  if (v1::LinkPolicy::Discipline_Parse(absl::AsciiStrToUpper(change.discipline), &discipline)) {
    out->set_discipline(discipline);
  }
  return out;
}

void AddSet(CLI::App& group, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(group, invocation, "set", "Change what links are like while packets cross them",
              "bfly link set 's3 r0-15' --rate 100Mbps --delay 50us\n"
              "  bfly link set all --rate none --delay 0s --loss 0");
  auto change = std::make_shared<Change>();
  verb->add_option("links", change->selector,
                   "Which: all, or one each of sSTAGES, rROWS and pPORT in quotes, such as "
                   "'s3 r0-15 p1'")
      ->required()
      ->type_name("SELECTOR");
  verb->add_option("--rate", change->rate, "Bits a second, such as 100Mbps, or none");
  verb->add_option("--delay", change->delay, "Propagation delay, such as 50us");
  verb->add_option("--queue-limit", change->queue_limit, "Packets that may wait, 0: no limit");
  verb->add_option("--discipline", change->discipline, "Which of the waiting packets is sent")
      ->check(CLI::IsMember({"fifo", "priority", "processor_sharing"}));
  verb->add_option("--loss", change->loss, "Probability that a packet is lost, 0 to 1");
  verb->callback([&invocation, change] {
    invocation.action = [common = invocation.common, change]() -> absl::Status {
      absl::StatusOr<v1::LinkOverride> what = ToOverride(*change);
      if (!what.ok()) return what.status();
      v1::SetLinksRequest request;
      *request.add_changes() = *std::move(what);
      auto stub = v1::Fabric::NewStub(Connect(common));
      v1::SetLinksResponse response;
      const absl::Status status =
          Call(stub.get(), &v1::Fabric::Stub::SetLinks, request, &response, common);
      if (!status.ok()) return status;
      if (common.json) return PrintJson(response);
      PrintGroups(response.links());
      return absl::OkStatus();
    };
  });
}

void AddShow(CLI::App& group, Invocation& invocation) {
  CLI::App* verb = NewVerb(group, invocation, "show",
                           "Show rate, delay, queue limit, discipline and loss of links, and which "
                           "are down",
                           "bfly link show 's3 r0-15'");
  auto selector = std::make_shared<std::string>();
  verb->add_option("links", *selector, "Which, as for bfly link set; left out: all")
      ->type_name("SELECTOR");
  verb->callback([&invocation, selector] {
    invocation.action = [common = invocation.common, selector]() -> absl::Status {
      const absl::StatusOr<v1::LinkOverride> which = ParseLinkSelector(*selector);
      if (!which.ok()) return which.status();
      v1::GetLinksRequest request;
      request.set_stages(which->stages());
      request.set_rows(which->rows());
      if (which->has_port()) request.set_port(which->port());
      auto stub = v1::Fabric::NewStub(Connect(common));
      v1::GetLinksResponse response;
      const absl::Status status =
          Call(stub.get(), &v1::Fabric::Stub::GetLinks, request, &response, common);
      if (!status.ok()) return status;
      if (common.json) return PrintJson(response);
      PrintGroups(response.links());
      for (const v1::LinkRef& link : response.down())
        printf("down: stage %u, row %u, port %u\n", link.stage(), link.row(), link.port());
      return absl::OkStatus();
    };
  });
}

}  // namespace

void AddLink(CLI::App& app, Invocation& invocation) {
  CLI::App* group = NewGroup(app, "link", "Give links rates and delays, take them down, show them",
                             "bfly link set 's3 r0-15' --rate 100Mbps --delay 50us");
  AddSet(*group, invocation);
  AddShow(*group, invocation);
  AddState(*group, invocation, true);
  AddState(*group, invocation, false);
}

}  // namespace bfly::control
