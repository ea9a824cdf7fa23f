// SPDX-License-Identifier: Apache-2.0
// bfly node up|down|fail|restore: takes nodes down, with all links that enter or leave them, and
// brings them back.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/fault_text.h"
#include "control/cli/set_each.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

// Each node takes a call of its own.
constexpr size_t kMostNodes = 4096;

// Returns the nodes of the loaded fabric that `selector` names. InvalidArgument: a node is outside
// the fabric.
absl::StatusOr<std::vector<v1::SetNodeStateRequest>> NodeRequests(const NodeSelector& selector,
                                                                  const Common& common) {
  auto stub = v1::Fabric::NewStub(Connect(common));
  v1::DescribeResponse fabric;
  const absl::Status status =
      Call(stub.get(), &v1::Fabric::Stub::Describe, v1::DescribeRequest(), &fabric, common);
  if (!status.ok()) return status;
  const auto levels = ExpandRanges(selector.levels, fabric.levels() - 1, "level");
  if (!levels.ok()) return levels.status();
  const auto rows = ExpandRanges(selector.rows, fabric.rows() - 1, "row");
  if (!rows.ok()) return rows.status();
  if (levels->size() * rows->size() > kMostNodes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'l", selector.levels, " r", selector.rows, "' selects ", levels->size() * rows->size(),
        " nodes (allowed: at most ", kMostNodes, " in a call)"));
  }
  std::vector<v1::SetNodeStateRequest> nodes;
  for (const uint32_t level : *levels) {
    for (const uint32_t row : *rows) {
      v1::SetNodeStateRequest& node = nodes.emplace_back();
      node.set_level(level);
      node.set_row(row);
    }
  }
  return nodes;
}

// One call after the other, until one fails. `changed` gets every node whose state was set.
template <typename Changed>
absl::Status SetNodes(const NodeSelector& selector, bool up, const Common& common,
                      const Changed& changed) {
  absl::StatusOr<std::vector<v1::SetNodeStateRequest>> nodes = NodeRequests(selector, common);
  if (!nodes.ok()) return nodes.status();
  auto stub = v1::Fabric::NewStub(Connect(common));
  const auto set = [&](v1::SetNodeStateRequest request) -> absl::Status {
    request.set_up(up);
    v1::SetNodeStateResponse response;
    const absl::Status status =
        Call(stub.get(), &v1::Fabric::Stub::SetNodeState, request, &response, common);
    return status.ok() ? changed(request, nodes->size() == 1) : status;
  };
  return SetEach(*nodes, "node", up, set, [](const v1::SetNodeStateRequest& node) {
    return absl::StrCat("l", node.level(), " r", node.row());
  });
}

absl::Status SetNodesUpOrDown(const NodeSelector& selector, bool up, const Common& common) {
  return SetNodes(selector, up, common, [&](const v1::SetNodeStateRequest& request, bool only) {
    if (common.json) return only ? PrintJson(request) : PrintJsonLine(request);
    printf("node l%u r%u is %s\n", request.level(), request.row(), up ? "up" : "down");
    return absl::OkStatus();
  });
}

// The same, with what that makes unreachable.
absl::Status FailOrRestoreNodes(const NodeSelector& selector, bool up, const Common& common) {
  v1::FaultChange change;
  change.set_up(up);
  const absl::Status status =
      SetNodes(selector, up, common, [&](const v1::SetNodeStateRequest& request, bool) {
        v1::NodeRef& node = *change.add_nodes();
        node.set_level(request.level());
        node.set_row(request.row());
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return PrintFaultChange(std::move(change), common);
}

using NodeAction = absl::Status (*)(const NodeSelector&, bool up, const Common&);

void AddNodeVerb(CLI::App& group, Invocation& invocation, const std::string& name,
                 const std::string& help, const std::string& more, bool up, NodeAction action) {
  CLI::App* verb = NewVerb(group, invocation, name, help, absl::StrCat("bfly node ", name, " 2 6"));
  TakesElectionId(verb, invocation);
  auto words = std::make_shared<std::vector<std::string>>();
  verb->add_option("nodes", *words,
                   absl::StrCat("Which: level and row, or ranges of them, such as 2 6 or 'l2 "
                                "r0-3'. Of n stages the inputs are level 0 and the outputs level n",
                                more))
      ->required()
      ->type_name("LEVEL ROW");
  verb->callback([&invocation, words, up, action] {
    const absl::StatusOr<NodeSelector> selector = NodesOf(*words);
    if (!selector.ok()) {
      throw CLI::ValidationError("nodes", std::string(selector.status().message()));
    }
    invocation.action = [common = invocation.common, selector = *selector, up, action] {
      return action(selector, up, common);
    };
  });
}

}  // namespace

void AddNode(CLI::App& app, Invocation& invocation) {
  CLI::App* group = NewGroup(app, "node", "Take nodes down with all their links, bring them back",
                             "bfly node down 2 6");
  const std::string lines = ". With --json a node a line if there are several";
  AddNodeVerb(*group, invocation, "up",
              "Bring nodes back; links taken down by themselves stay down", lines, /*up=*/true,
              SetNodesUpOrDown);
  AddNodeVerb(*group, invocation, "down",
              "Take nodes down, and with them the links to them and from them", lines, /*up=*/false,
              SetNodesUpOrDown);
  AddNodeVerb(*group, invocation, "restore", "Bring nodes back, and show what is still unreachable",
              "", /*up=*/true, FailOrRestoreNodes);
  AddNodeVerb(*group, invocation, "fail",
              "Take nodes down as bfly node down does, and show which rows lose their path", "",
              /*up=*/false, FailOrRestoreNodes);
}

}  // namespace bfly::control
