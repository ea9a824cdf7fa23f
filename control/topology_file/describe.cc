// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/describe.h"

#include "topologies/describe.h"

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

}  // namespace bfly::control
