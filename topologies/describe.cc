// SPDX-License-Identifier: Apache-2.0
#include "topologies/describe.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "topologies/tag.h"

namespace bfly {

NetworkFacts Describe(const Network& network) {
  NetworkFacts facts{
      .kind = std::string(KindName(network.kind())),
      .rows = network.rows(),
      .levels = network.levels(),
      .stages = network.stages(),
      .link_count = network.link_count(),
      .seed = network.spec().seed,
      .passes = network.spec().passes,
      .dilation = network.hops(),
      .multiplicity = network.multiplicity(),
      .rule = network.multiplicity() > 1 ? std::string(RuleName(network.rule())) : std::string(),
      .extra_stages = network.spec().extra_stages,
      .parallel_edges = network.kind() == NetworkKind::kMultibutterfly
                            ? std::string(ParallelEdgesName(network.parallel_edges()))
                            : std::string(),
      .tag_bits_per_hop = network.tag_layout().field_bits,
      .tag = {},
      .example = {}};
  for (int hop = 0; hop < network.hops(); ++hop) {
    const int stage = network.stage_of_hop(hop);
    facts.tag.push_back({hop, stage, network.position_of_stage(stage)});
  }
  // Complementary ends: the example changes every bit of the address.
  ExamplePath& example = facts.example;
  example.input = 1;
  example.output = network.rows() - 2;
  const Tag tag = GreedyTag(network, example.input, example.output);
  example.tag = TagToString(network, tag);
  example.rows = WalkTag(network, example.input, tag);
  return facts;
}

uint64_t FreeLinkCount(const Network& network) {
  // One of the two links of a node keeps the row.
  return network.straight_is_free() ? network.link_count() / 2 : 0;
}

std::vector<LinkEnds> AllLinks(const Network& network) {
  std::vector<LinkEnds> links;
  links.reserve(network.link_count());
  for (uint64_t index = 0; index < network.link_count(); ++index) {
    const LinkId link = network.link_at(index);
    links.push_back(
        {link, network.next_row(link.stage, link.row, link.port), network.direction_of(link.port)});
  }
  return links;
}

absl::StatusOr<std::string> ToDot(const Network& network, absl::string_view name) {
  if (network.rows() > kMaxDotRows) {
    return absl::InvalidArgumentError(absl::StrCat("rows: a drawing of ", network.rows(),
                                                   " rows cannot be read; at most ", kMaxDotRows));
  }
  std::string dot = absl::StrCat(
      "digraph \"", absl::StrReplaceAll(name, {{"\\", "\\\\"}, {"\"", "\\\""}}),
      "\" {\n  rankdir=LR;\n  node [shape=circle, fixedsize=true, width=0.5, fontsize=10];\n");
  for (int level = 0; level < network.levels(); ++level) {
    absl::StrAppend(&dot, "  { rank=same;");
    for (Row row = 0; row < network.rows(); ++row) {
      absl::StrAppend(&dot, " \"", level, ".", row, "\"");
    }
    absl::StrAppend(&dot, " }\n");
  }
  for (const LinkEnds& ends : AllLinks(network)) {
    const bool cross = ends.next_row != ends.link.row;
    absl::StrAppend(&dot, "  \"", ends.link.stage, ".", ends.link.row, "\" -> \"",
                    (ends.link.stage + 1) % network.levels(), ".", ends.next_row, "\"",
                    cross ? " [style=dashed]" : "", ";\n");
  }
  absl::StrAppend(&dot, "}\n");
  return dot;
}

}  // namespace bfly
