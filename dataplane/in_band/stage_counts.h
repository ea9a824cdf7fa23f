// SPDX-License-Identifier: Apache-2.0
// What a stage knows of the paths over its links, and how it handles a burst of probes. No DPDK, no
// threads: the worker of the stage calls it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "dataplane/in_band/probe.h"
#include "topologies/network.h"

namespace bfly::dataplane {

class StageCounts {
 public:
  // Stage `stage` of a network that is wired by XOR and has one hop a stage (BB_n).
  // `collides`: the stage's links are ones that candidate paths may share.
  StageCounts(const Network& network, int stage, bool collides);

  // Carry probes over their next link. Of the markers only kBegin means something here.
  void Forward(Probe* burst, int count);
  void Backward(Probe* burst, int count);

  uint32_t links() const { return links_; }
  // Circuits on a link; any thread.
  uint32_t circuits(uint32_t link) const {
    return counts_[link].circuits.load(std::memory_order_relaxed);
  }

 private:
  struct LinkCount {
    uint32_t pass = 0;                  // to which `active` belongs; 0: none
    uint32_t active = 0;                // paths counted in that pass
    std::atomic<uint32_t> circuits{0};  // worker: writes, readers: relaxed loads
  };
  static_assert(sizeof(LinkCount) == 12);

  template <ProbeKind kKind>
  void ForwardAs(Probe* burst, int count);
  template <ProbeKind kKind>
  void BackwardAs(Probe* burst, int count);

  const uint32_t links_;
  const uint32_t mask_;
  const int shift_;  // of the stage's bit in a tag
  const bool collides_;
  uint32_t pass_ = 0;  // wraps after 2^32 passes
  std::unique_ptr<LinkCount[]> counts_;
};

}  // namespace bfly::dataplane
