// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/describe.h"

#include "topologies/describe.h"
#include "topologies/splitter_report.h"

namespace bfly::control {

v1::DescribeResponse DescribeNetwork(const Network& network, const std::string& name, bool links) {
  const NetworkFacts facts = Describe(network);
  v1::DescribeResponse response;
  response.set_name(name);
  response.set_kind(facts.kind);
  response.set_rows(facts.rows);
  response.set_levels(facts.levels);
  response.set_stages(facts.stages);
  response.set_link_count(facts.link_count);
  response.set_seed(facts.seed);
  response.set_passes(facts.passes);
  response.set_dilation(facts.dilation);
  response.set_multiplicity(facts.multiplicity);
  response.set_rule(facts.rule);
  response.set_extra_stages(facts.extra_stages);
  response.set_parallel_edges(facts.parallel_edges);
  response.mutable_tag()->set_bits(static_cast<uint32_t>(network.tag_layout().bits()));
  response.mutable_tag()->set_bits_per_hop(facts.tag_bits_per_hop);
  for (const TagBit& bit : facts.tag) {
    v1::TagBit* entry = response.mutable_tag()->add_layout();
    entry->set_hop(bit.hop);
    entry->set_stage(bit.stage);
    entry->set_position(bit.position);
  }
  response.mutable_example()->set_input(facts.example.input);
  response.mutable_example()->set_output(facts.example.output);
  response.mutable_example()->set_tag(facts.example.tag);
  for (const Row row : facts.example.rows) response.mutable_example()->add_rows(row);
  if (!links) return response;
  for (const LinkEnds& ends : AllLinks(network)) {
    v1::LinkEnds* entry = response.add_links();
    entry->set_stage(ends.link.stage);
    entry->set_row(ends.link.row);
    entry->set_port(ends.link.port);
    entry->set_next_row(ends.next_row);
    entry->set_direction(ends.direction);
  }
  return response;
}

v1::Expansion DescribeExpansion(const Network& network) {
  const SplitterReport report = ReportSplitters(network);
  v1::Expansion out;
  out.set_examined_all(report.examined_all);
  for (const LevelExpansion& level : report.levels) {
    v1::LevelExpansion* const entry = out.add_levels();
    entry->set_stage(level.stage);
    entry->set_inputs(level.inputs);
    entry->set_splitters(level.splitters);
    entry->set_examined(level.examined);
    entry->set_exact(level.exact);
    if (level.second_singular_value.has_value()) {
      entry->set_second_singular_value(*level.second_singular_value);
    }
    for (const ExpandingSets& sets : level.sets) {
      v1::ExpandingSets* const of_beta = entry->add_sets();
      of_beta->set_beta(sets.beta);
      of_beta->set_at_least(sets.at_least);
      of_beta->set_at_most(sets.at_most);
      if (!sets.violation.has_value()) continue;
      v1::ExpansionViolation* const violation = of_beta->mutable_violation();
      violation->set_splitter(sets.violation->splitter);
      violation->set_direction(sets.violation->direction);
      violation->set_neighbours(sets.violation->neighbours);
      for (const Row row : sets.violation->inputs) violation->add_rows(row);
    }
  }
  for (const NetworkExpansion& of_beta : report.network) {
    v1::NetworkExpansion* const entry = out.add_network();
    entry->set_beta(of_beta.beta);
    entry->set_alpha_at_least(of_beta.alpha_at_least);
    entry->set_alpha_at_most(of_beta.alpha_at_most);
    entry->set_fact_1_alpha(of_beta.fact_1_alpha);
    entry->set_concentrator_alpha(of_beta.concentrator_alpha);
    entry->set_delta(of_beta.delta);
  }
  return out;
}

}  // namespace bfly::control
