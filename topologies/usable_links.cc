// SPDX-License-Identifier: Apache-2.0
#include "topologies/usable_links.h"

namespace bfly {

std::vector<bool> UsableLinks(const Network& network, const FaultySwitches& faulty) {
  std::vector<bool> usable(network.link_count());
  for (int hop = 0; hop < network.hops(); ++hop) {
    for (Row row = 0; row < network.rows(); ++row) {
      for (int port = 0; port < network.ports(); ++port) {
        const uint64_t link = network.link_index({hop, row, port});
        usable[link] =
            !faulty.dead().Has(link) && !faulty.counts(hop + 1, network.next_row(hop, row, port));
      }
    }
  }
  return usable;
}

}  // namespace bfly
