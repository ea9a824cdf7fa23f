// SPDX-License-Identifier: Apache-2.0
#include "control/cli/fault_text.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"

namespace bfly::control {
namespace {

// "1 link", "2 links".
std::string Plural(uint64_t count, const std::string& one) {
  return absl::StrCat(count, " ", one, count == 1 ? "" : "s");
}

std::string WhatIsDown(const v1::FaultReport& report) {
  const uint64_t all = report.links() + report.nodes();
  std::string what;
  if (report.links() > 0) what = Plural(report.links(), "link");
  if (report.nodes() > 0) {
    absl::StrAppend(&what, what.empty() ? "" : " and ", Plural(report.nodes(), "node"));
  }
  return absl::StrCat(what, all == 1 ? " is down" : " are down");
}

std::string LostPairsText(const v1::FaultReport& report) {
  if (report.unreachable_pairs() == 0 && report.exact()) {
    return "every pair of input and output row still has a path";
  }
  std::string text =
      absl::StrCat(report.exact() ? "" : "at least ", report.unreachable_pairs(), " of ",
                   Plural(report.pairs(), "pair"), " of input and output row ",
                   report.unreachable_pairs() == 1 ? "has" : "have", " no path any more");
  const char* separator = ": ";
  for (const v1::RowPair& pair : report.examples()) {
    absl::StrAppend(&text, separator, pair.input(), " -> ", pair.output());
    separator = ", ";
  }
  if (static_cast<uint64_t>(report.examples_size()) < report.unreachable_pairs()) text += ", ...";
  return text;
}

}  // namespace

std::string FaultLines(const v1::FaultReport& report) {
  std::string lines = absl::StrCat(WhatIsDown(report), "; ", LostPairsText(report), "\n");
  if (!report.cut_off_inputs().empty()) {
    absl::StrAppend(&lines, "  cut off: no path leads from input row ", report.cut_off_inputs(),
                    "\n");
  }
  if (!report.cut_off_outputs().empty()) {
    absl::StrAppend(&lines, "  cut off: no path leads to output row ", report.cut_off_outputs(),
                    "\n");
  }
  if (report.faulty_switches() > 0) {
    const bool one = report.faulty_switches() == 1;
    absl::StrAppend(&lines, "  ", report.faulty_switches(),
                    one ? " switch is not down but counts" : " switches are not down but count",
                    " as faulty: every edge of a direction is down or leads to a faulty switch\n");
  }
  return lines;
}

absl::Status PrintFaultChange(v1::FaultChange change, const Common& common) {
  auto stub = v1::Fabric::NewStub(Connect(common));
  v1::StatusResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &response, common);
  if (!status.ok()) return status;
  v1::FabricStatus& fabric = *response.mutable_status();
  if (fabric.has_faults()) *change.mutable_faults() = std::move(*fabric.mutable_faults());
  if (common.json) return PrintJson(change);
  const char* became = change.up() ? "restored" : "failed";
  for (const v1::LinkRef& link : change.links()) {
    printf("link %s %s\n", LinkText(link.stage(), link.row(), link.port()).c_str(), became);
  }
  for (const v1::NodeRef& node : change.nodes()) {
    printf("node l%u r%u %s\n", node.level(), node.row(), became);
  }
  const std::string lines =
      change.has_faults() ? FaultLines(change.faults())
                          : "nothing is down; every pair of input and output row has a path\n";
  printf("%s", lines.c_str());
  return absl::OkStatus();
}

}  // namespace bfly::control
