// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/fault_report.h"

#include "control/topology_file/ranges.h"
#include "topologies/lost_pairs.h"

namespace bfly::control {
namespace {

constexpr size_t kExamplePairs = 8;

}  // namespace

v1::FaultReport ReportFaults(const FaultSet& faults) {
  const uint64_t rows = faults.network().rows();
  const LostPairs lost = FindLostPairs(faults, kExamplePairs);
  v1::FaultReport report;
  report.set_links(faults.down_links().size());
  report.set_nodes(faults.down_nodes().size());
  report.set_pairs(rows * rows);
  report.set_unreachable_pairs(lost.pairs);
  report.set_exact(lost.exact);
  for (const bfly::RowPair& pair : lost.examples) {
    v1::RowPair& example = *report.add_examples();
    example.set_input(pair.input);
    example.set_output(pair.output);
  }
  report.set_cut_off_inputs(FormatRanges(lost.inputs));
  report.set_cut_off_outputs(FormatRanges(lost.outputs));
  report.set_faulty_switches(lost.faulty_switches);
  return report;
}

}  // namespace bfly::control
