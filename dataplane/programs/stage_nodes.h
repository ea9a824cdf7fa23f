// SPDX-License-Identifier: Apache-2.0
// What a stage knows of the paths over its links, and how it handles a burst of probes. No DPDK, no
// threads: the worker of the stage calls it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/programs/message.h"
#include "topologies/link_capacity.h"
#include "topologies/network.h"

namespace bfly::dataplane {

class StageCounts {
 public:
  // Stage `stage` of a network with one hop a stage whose straight links keep the row (BB_n, RB_n).
  // `collides`: the stage's links are ones that candidate paths may share.
  StageCounts(const Network& network, int stage, bool collides, const LinkCapacity& capacity = {});

  // Carry probes over their next link. Of the markers only kBegin means something here.
  void Forward(Probe* burst, int count);
  void Backward(Probe* burst, int count);

  // Any one thread. Probes that were sent before may find the link as it was.
  void SetLinkUp(uint32_t link, bool up);

  uint32_t links() const { return links_; }
  // Circuits on a link; any thread.
  uint32_t circuits(uint32_t link) const { return circuits_[link].load(std::memory_order_relaxed); }

 private:
  template <ProbeKind kKind>
  void ForwardAs(Probe* burst, int count);
  template <ProbeKind kKind, bool kRandomCross>
  void ForwardOver(Probe* burst, int count);
  // What a probe collects: the paths counted on its link or, without kActive, `itself`; with
  // kCircuits, circuits are added; with neither, nothing.
  void Reserve(Probe* burst, int count);
  // Before the probes go back over their links.
  void TakeBack(const Probe* burst, int count);
  void NoteFull(Probe* burst, int count) const;
  void NoteDown(Probe* burst, int count) const;
  uint32_t LinkBack(const Probe& p) const;
  bool HasRoom(uint32_t link) const {
    return capacity_.empty() || circuits(link) < capacity_[link];
  }
  bool IsDown(uint32_t link) const {
    return (down_[link / 64].load(std::memory_order_relaxed) >> link % 64 & 1) != 0;
  }
  void Add(uint32_t link, uint32_t circuits) {
    circuits_[link].store(circuits_[link].load(std::memory_order_relaxed) + circuits,
                          std::memory_order_relaxed);
  }
  template <bool kActive, bool kCircuits>
  void BackwardAs(Probe* burst, int count, uint32_t itself = 0);
  template <bool kActive, bool kCircuits, bool kRandomCross>
  void BackwardOver(Probe* burst, int count, uint32_t itself);
  void Begin();

  const uint32_t links_;
  const uint32_t mask_;
  const int stage_;
  const int shift_;  // of the stage's bit in a tag
  const bool collides_;
  // Where the cross link of a row leads to, and whose cross link leads to a row. Empty where it
  // only changes the bit of mask_.
  std::vector<Row> cross_, crossed_from_;
  std::vector<uint32_t> capacity_;  // by link; empty: none has a limit
  // A bit a link. control: writes, worker: relaxed loads; what is sent later finds it in the rings'
  // order.
  std::vector<std::atomic<uint64_t>> down_;
  std::atomic<uint32_t> downs_{0};  // links that are down; control: writes, worker: relaxed loads
  bool counted_ = false;            // some of active_ is not 0
  uint64_t crossings_ = 0;          // sum of circuits_
  // By link: paths counted in this pass, 255 and more as 255, which is above every threshold. A
  // byte each, so that the counts of all stages stay in a core's cache where n is some thousands.
  // Null if nothing collides.
  std::unique_ptr<uint8_t[]> active_;
  std::unique_ptr<std::atomic<uint32_t>[]> circuits_;  // worker: writes, readers: relaxed loads
};

}  // namespace bfly::dataplane
