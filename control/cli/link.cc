// SPDX-License-Identifier: Apache-2.0
// bfly link set|show|up|down|fail|restore: the rate, delay and queue of links, and whether they
// are up.
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/fault_text.h"
#include "control/cli/link_selection.h"
#include "control/cli/set_each.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"

namespace bfly::control {
namespace {

// Each link takes a call of its own.
constexpr size_t kMostLinks = 4096;

// Throws CLI::ValidationError, which means wrong usage, if `words` select no links.
void CheckSelector(const std::vector<std::string>& words) {
  const absl::Status status = SelectorOf(words).status();
  if (!status.ok()) throw CLI::ValidationError("links", std::string(status.message()));
}

// One call after the other, until one fails. `changed` gets every link whose state was set. Of
// several links that are to come up only those that are down are set.
template <typename Changed>
absl::Status SetState(const std::vector<std::string>& words, bool up, const Common& common,
                      const Changed& changed) {
  const absl::StatusOr<v1::LinkOverride> selector = SelectorOf(words);
  if (!selector.ok()) return selector.status();
  const bool one = OneLink(words).ok();
  const auto too_many = [&](uint64_t selected) {
    return absl::StrCat("'", absl::StrJoin(words, " "), "' selects ", selected, " links",
                        up ? " that are down" : "", " (allowed: at most ", kMostLinks,
                        " in a call)");
  };
  const absl::StatusOr<std::vector<v1::LinkRef>> links =
      up && !one ? DownLinksOf(*selector, common)
                 : LinksOf(*selector, kMostLinks, too_many, common);
  if (!links.ok()) return links.status();
  if (links->size() > kMostLinks) return absl::InvalidArgumentError(too_many(links->size()));
  auto stub = v1::Fabric::NewStub(Connect(common));
  const auto set = [&](const v1::LinkRef& link) -> absl::Status {
    v1::SetLinkStateRequest request;
    request.set_stage(link.stage());
    request.set_row(link.row());
    request.set_port(link.port());
    request.set_up(up);
    v1::SetLinkStateResponse response;
    const absl::Status status =
        Call(stub.get(), &v1::Fabric::Stub::SetLinkState, request, &response, common);
    return status.ok() ? changed(request, one) : status;
  };
  return SetEach(*links, "link", up, set, [](const v1::LinkRef& link) {
    return LinkText(link.stage(), link.row(), link.port());
  });
}

absl::Status SetUpOrDown(const std::vector<std::string>& words, bool up, const Common& common) {
  bool none = true;
  const auto tell = [&](const v1::SetLinkStateRequest& request, bool only) {
    none = false;
    if (common.json) return only ? PrintJson(request) : PrintJsonLine(request);
    printf("link %s is %s\n", LinkText(request.stage(), request.row(), request.port()).c_str(),
           up ? "up" : "down");
    return absl::OkStatus();
  };
  if (absl::Status status = SetState(words, up, common, tell); !status.ok()) return status;
  if (none && !common.json) printf("none of these links was taken down by itself\n");
  return absl::OkStatus();
}

// The same, with what that makes unreachable.
absl::Status FailOrRestore(const std::vector<std::string>& words, bool up, const Common& common) {
  v1::FaultChange change;
  change.set_up(up);
  const absl::Status status =
      SetState(words, up, common, [&](const v1::SetLinkStateRequest& request, bool) {
        v1::LinkRef& link = *change.add_links();
        link.set_stage(request.stage());
        link.set_row(request.row());
        link.set_port(request.port());
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return PrintFaultChange(std::move(change), common);
}

void AddFault(CLI::App& group, Invocation& invocation, bool up) {
  CLI::App* verb =
      NewVerb(group, invocation, up ? "restore" : "fail",
              up ? "Bring links back, and show what is still unreachable"
                 : "Take links down as bfly link down does, and show which rows lose their path",
              up ? "bfly link restore 's3 r5 p1'" : "bfly link fail 's3 r5 p1'");
  TakesElectionId(verb, invocation);
  auto words = std::make_shared<std::vector<std::string>>();
  verb->add_option("links", *words,
                   "Which, as for bfly link set; stage, row and port of one link, 3 5 1, do too")
      ->required()
      ->type_name(up ? "DOWN-SELECTOR" : "SELECTOR");
  verb->callback([&invocation, words, up] {
    CheckSelector(*words);
    invocation.action = [common = invocation.common, words, up] {
      return FailOrRestore(*words, up, common);
    };
  });
}

void AddState(CLI::App& group, Invocation& invocation, bool up) {
  CLI::App* verb =
      NewVerb(group, invocation, up ? "up" : "down",
              up ? "Bring links back" : "Take links down: what comes to them is dropped",
              up ? "bfly link up 's3 r5 p1'" : "bfly link down 's3 r5 p1'");
  TakesElectionId(verb, invocation);
  auto words = std::make_shared<std::vector<std::string>>();
  verb->add_option("links", *words,
                   "Which, as for bfly link set; stage, row and port of one link, 3 5 1, do too. "
                   "With --json a link a line if there are several")
      ->required()
      ->type_name(up ? "DOWN-SELECTOR" : "SELECTOR");
  verb->callback([&invocation, words, up] {
    CheckSelector(*words);
    invocation.action = [common = invocation.common, words, up] {
      return SetUpOrDown(*words, up, common);
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
  std::vector<std::string> selector;
  std::string rate, delay, discipline;
  std::optional<uint32_t> queue_limit;
  std::optional<double> loss;
};

absl::StatusOr<v1::LinkOverride> ToOverride(const Change& change) {
  absl::StatusOr<v1::LinkOverride> out = SelectorOf(change.selector);
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
  TakesElectionId(verb, invocation);
  auto change = std::make_shared<Change>();
  verb->add_option("links", change->selector,
                   "Which: all, or one each of sSTAGES, rROWS and pPORT, such as 's3 r0-15 p1'; "
                   "stage, row and port of one link, 3 5 1, do too")
      ->required()
      ->type_name("SELECTOR");
  verb->add_option("--rate", change->rate, "Bits a second, such as 100Mbps, or none");
  verb->add_option("--delay", change->delay, "Propagation delay, such as 50us");
  verb->add_option("--queue-limit", change->queue_limit, "Packets that may wait, 0: no limit");
  verb->add_option("--discipline", change->discipline, "Which of the waiting packets is sent")
      ->check(CLI::IsMember({"fifo", "priority", "processor_sharing"}));
  verb->add_option("--loss", change->loss, "Probability that a packet is lost, 0 to 1");
  verb->callback([&invocation, change] {
    CheckSelector(change->selector);
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
  auto selector = std::make_shared<std::vector<std::string>>();
  verb->add_option("links", *selector, "Which, as for bfly link set; left out: all")
      ->type_name("SELECTOR");
  verb->callback([&invocation, selector] {
    if (!selector->empty()) CheckSelector(*selector);
    invocation.action = [common = invocation.common, selector]() -> absl::Status {
      const absl::StatusOr<v1::LinkOverride> which =
          selector->empty() ? v1::LinkOverride() : SelectorOf(*selector);
      if (!which.ok()) return which.status();
      const v1::GetLinksRequest request = LinksRequestOf(*which);
      auto stub = v1::Fabric::NewStub(Connect(common));
      v1::GetLinksResponse response;
      const absl::Status status =
          Call(stub.get(), &v1::Fabric::Stub::GetLinks, request, &response, common);
      if (!status.ok()) return status;
      if (common.json) return PrintJson(response);
      PrintGroups(response.links());
      for (const v1::LinkRef& link : response.down())
        printf("down: %s\n", LinkText(link.stage(), link.row(), link.port()).c_str());
      for (const v1::NodeRef& node : response.down_nodes())
        printf("down: node l%u r%u\n", node.level(), node.row());
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
  AddFault(*group, invocation, true);
  AddFault(*group, invocation, false);
}

}  // namespace bfly::control
