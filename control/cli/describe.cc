// SPDX-License-Identifier: Apache-2.0
// bfly describe FILE: describes the network of a topology file. No fabric has to run.
#include "topologies/describe.h"

#include <cinttypes>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/fabric.pb.h"
#include "control/cli/expansion_text.h"
#include "control/cli/fault_text.h"
#include "control/cli/network_file.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/topology_file/describe.h"
#include "control/topology_file/fault_report.h"
#include "control/topology_file/planned_faults.h"

namespace bfly::control {
namespace {

// The row's address in binary, such as "0101", with as many bits as the network's addresses have.
std::string Bits(Row row, int dimension) {
  std::string bits;
  for (int bit = dimension - 1; bit >= 0; --bit) bits += (row >> bit) & 1 ? '1' : '0';
  return bits;
}

void Print(const v1::DescribeResponse& facts, const Network& network) {
  const uint64_t free_links = FreeLinkCount(network);
  const char* const many = facts.dilation() == 1 ? "" : "s";
  printf("%s: %s, %u rows, %u levels, %u stage%s, %" PRIu64 " links", facts.name().c_str(),
         facts.kind().c_str(), facts.rows(), facts.levels(), facts.stages(),
         facts.stages() == 1 ? "" : "s", facts.link_count() - free_links);
  if (free_links > 0) {
    printf(", and %" PRIu64 " more that keep the row, which are not links of the cube\n",
           free_links);
    printf("every path has %u hop%s", facts.dilation(), many);
    printf(" and at most %u link%s (dilation)", facts.dilation(), many);
  } else {
    printf("\nevery path has %u link%s (dilation)", facts.dilation(), many);
  }
  if (facts.multiplicity() > 1) {
    printf(", %u links a direction, picked by %s", facts.multiplicity(), facts.rule().c_str());
  }
  if (!facts.parallel_edges().empty()) {
    printf("; random splitters of seed %" PRIu64 ", parallel edges: %s", facts.seed(),
           facts.parallel_edges().c_str());
  }
  if (facts.extra_stages() > 0) {
    printf("; in the first %u a packet may go either way", facts.extra_stages());
  }
  if (facts.passes() > 1) printf(", %u rounds of the wrapped butterfly", facts.passes());
  if (network.kind() == NetworkKind::kTwoFoldButterfly)
    printf("; switch settings of seed %" PRIu64, facts.seed());
  if (facts.multiplicity() > 1) {
    printf(
        "\n\ntag: %u bits, %u a hop, the first is read first: the direction, and for circuits the "
        "port within it\n",
        facts.tag().bits(), facts.tag().bits_per_hop());
  } else {
    printf(
        "\n\ntag: %u bits, the first is read first; a stage sends a packet to the port its bit "
        "says\n",
        facts.tag().bits());
  }
  printf("  hop  stage  sets address position (1 is the leftmost of %d)\n", network.dimension());
  for (const v1::TagBit& bit : facts.tag().layout())
    printf("  %3u  %5u  %u\n", bit.hop(), bit.stage(), bit.position());
  const v1::ExamplePath& example = facts.example();
  printf("\nexample: %u -> %u with tag %s\n", example.input(), example.output(),
         example.tag().c_str());
  for (int i = 0; i < example.rows_size(); ++i)
    printf("  level %2d  row %*u  %s\n", i, static_cast<int>(std::to_string(facts.rows()).size()),
           example.rows(i), Bits(example.rows(i), network.dimension()).c_str());
  if (facts.has_expansion()) fputs(ExpansionText(facts).c_str(), stdout);
  if (facts.has_faults()) printf("\n%s", FaultLines(facts.faults()).c_str());
  if (facts.links_size() == 0) return;
  printf("\nstage     row  port  direction  to row\n");
  for (const v1::LinkEnds& link : facts.links())
    printf("%5u %7u %5u %10u %7u\n", link.stage(), link.row(), link.port(), link.direction(),
           link.next_row());
}

}  // namespace

void AddDescribe(CLI::App& app, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(app, invocation, "describe",
              "Check a topology file and show its network: levels, rows, links, tags, a path",
              "bfly describe topologies/examples/demo.yaml\n"
              "  bfly describe topologies/examples/demo.yaml --dot | dot -Tsvg > demo.svg");
  struct Options {
    std::string file;
    bool links = false, dot = false;
  };
  auto options = std::make_shared<Options>();
  verb->add_option("file", options->file, "Topology file (YAML); - is standard input")
      ->required()
      ->type_name("FILE");
  verb->add_flag("--links", options->links, "List every link");
  verb->add_flag("--dot", options->dot, "Print a Graphviz drawing instead")
      ->excludes(verb->get_option("--json"));
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options]() -> absl::Status {
      const absl::StatusOr<NetworkFile> file = ReadNetwork(options->file);
      if (!file.ok()) return file.status();
      if (options->dot) {
        const absl::StatusOr<std::string> dot = ToDot(file->network, file->name);
        if (!dot.ok()) return dot.status();
        fputs(dot->c_str(), stdout);
        return absl::OkStatus();
      }
      v1::DescribeResponse facts = DescribeNetwork(file->network, file->name, options->links);
      if (file->network.kind() == NetworkKind::kMultibutterfly) {
        *facts.mutable_expansion() = DescribeExpansion(file->network);
      }
      const FaultSet faults = PlannedFaults(file->faults, file->network);
      if (!faults.empty()) *facts.mutable_faults() = ReportFaults(faults);
      if (common.json) return PrintJson(facts);
      Print(facts, file->network);
      return absl::OkStatus();
    };
  });
}

}  // namespace bfly::control
