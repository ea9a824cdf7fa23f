// SPDX-License-Identifier: Apache-2.0
// The nodes of one stage as programs use them: their state for the links that leave them, and how
// messages cross these links. No DPDK and no threads: the worker of the stage calls it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/programs/message.h"
#include "dataplane/programs/pass.h"
#include "topologies/link_capacity.h"
#include "topologies/network.h"

namespace bfly::dataplane {

class StageNodes {
 public:
  // Stage `stage` of BB_n or RB_n, networks with one hop a stage whose straight links keep the row.
  // `collides`: candidate paths may share the stage's links.
  StageNodes(const Network& network, int stage, bool collides, const LinkCapacity& capacity = {});

  // Lets the pass that runs carry a burst of markers and messages, in the order in which they were
  // sent. Only the first may be a kBegin, only the last a kEnd.
  void Forward(Message* burst, int count);
  void Backward(Message* burst, int count);

  // One thread may call it at a time. Messages that were sent before the call may still see the
  // previous state of the link.
  void SetLinkUp(uint32_t link, bool up);
  // How many circuits are on a link. Any thread may call it.
  uint32_t circuits(uint32_t link) const { return circuits_[link].load(std::memory_order_relaxed); }
  uint32_t links() const { return links_; }

  // Passes use the functions below.

  int stage() const { return stage_; }
  bool collides() const { return collides_; }
  bool HasRoom(uint32_t link) const {
    return capacity_.empty() || circuits(link) < capacity_[link];
  }
  bool has_capacities() const { return !capacity_.empty(); }
  bool IsDown(uint32_t link) const {
    return (down_[link / 64].load(std::memory_order_relaxed) >> link % 64 & 1) != 0;
  }
  bool has_down_links() const { return downs_.load(std::memory_order_relaxed) != 0; }

  // The number of circuits on each link, and whether any link has a circuit.
  const std::atomic<uint32_t>* all_circuits() const { return circuits_.get(); }
  bool has_circuits() const { return crossings_ != 0; }
  // `more` is 1, or ~0u to subtract one.
  void AddCircuits(uint32_t link, uint32_t more) {
    circuits_[link].store(circuits(link) + more, std::memory_order_relaxed);
    crossings_ += static_cast<uint64_t>(static_cast<int32_t>(more));
  }
  void ForgetCircuits();
  // If candidate paths collide, a byte for each link, which a pass writes and reads. It is 0 when
  // the pass begins.
  const uint8_t* marks() const { return marks_.get(); }
  uint8_t* WriteMarks() {
    marked_ = true;
    return marks_.get();
  }

  // Carries messages over their next link. `at_link(message, link)` is called at the tail, before a
  // message goes forward and after it has come back.
  template <class AtLink>
  void Cross(Message* burst, int count, AtLink at_link) const;
  template <class AtLink>
  void CrossBack(Message* burst, int count, AtLink at_link) const;
  void Cross(Message* burst, int count) const;
  void CrossBack(Message* burst, int count) const;
  // The link over which a message at its tail goes forward.
  uint32_t LinkAhead(const Message& m) const {
    return m.row * 2 + (static_cast<uint32_t>(m.tag >> shift_) & 1);
  }
  // Carries messages forward, and adds `more` circuits to every link they cross, as AddCircuits
  // does.
  void CrossAndAdd(Message* burst, int count, uint32_t more);

 private:
  template <bool kRandomCross, class AtLink>
  void CrossOver(Message* burst, int count, AtLink at_link) const;
  template <bool kRandomCross, class AtLink>
  void CrossBackOver(Message* burst, int count, AtLink at_link) const;

  const uint32_t links_;
  const uint32_t mask_;
  const int stage_;
  const int shift_;  // the place of the stage's bit in a tag
  const bool collides_;
  // For each row: the row to which its cross link leads, and the row whose cross link leads to it.
  // Empty if the cross link only changes the bit of mask_.
  std::vector<Row> cross_, crossed_from_;
  std::vector<uint32_t> capacity_;  // one for each link; empty: no link has a limit
  // A bit for each link. control: writes, worker: relaxed loads. Messages that are sent later see
  // it, because rings keep the order.
  std::vector<std::atomic<uint64_t>> down_;
  std::atomic<uint32_t> downs_{0};  // links that are down; control: writes, worker: relaxed loads
  const Pass* pass_ = nullptr;      // the pass that was begun last
  bool marked_ = false;             // some of marks_ is not 0
  uint64_t crossings_ = 0;          // the sum of circuits_
  // A byte for each link, so that the marks of all stages stay in a core's cache if n is some
  // thousands. Null if no paths collide.
  std::unique_ptr<uint8_t[]> marks_;
  std::unique_ptr<std::atomic<uint32_t>[]> circuits_;  // worker: writes, readers: relaxed loads
};

template <bool kRandomCross, class AtLink>
void StageNodes::CrossOver(Message* burst, int count, AtLink at_link) const {
  // These are locals because the compiler would otherwise read the members again after each store
  // of at_link.
  const uint32_t mask = mask_;
  const int shift = shift_;
  [[maybe_unused]] const Row* const cross = cross_.data();
  for (int i = 0; i < count; ++i) {
    Message& m = burst[i];
    const uint32_t port = static_cast<uint32_t>(m.tag >> shift) & 1;
    const uint32_t left = (m.row & mask) != 0;
    at_link(m, m.row * 2 + port);
    if constexpr (kRandomCross) {
      m.row = port == left ? m.row : cross[m.row];
    } else {
      m.row = (m.row & ~mask) | (mask & (0u - port));
    }
    m.tag ^= Tag{port ^ left} << shift;
  }
}

template <bool kRandomCross, class AtLink>
void StageNodes::CrossBackOver(Message* burst, int count, AtLink at_link) const {
  const uint32_t mask = mask_;
  const int shift = shift_;
  [[maybe_unused]] const Row* const crossed_from = crossed_from_.data();
  for (int i = 0; i < count; ++i) {
    Message& m = burst[i];
    const uint32_t port = (m.row & mask) != 0;
    const uint32_t left = static_cast<uint32_t>(m.tag >> shift) & 1;
    if constexpr (kRandomCross) {
      m.row = port == left ? m.row : crossed_from[m.row];
    } else {
      m.row = (m.row & ~mask) | (mask & (0u - left));
    }
    m.tag ^= Tag{port ^ left} << shift;
    at_link(m, m.row * 2 + port);
  }
}

template <class AtLink>
void StageNodes::Cross(Message* burst, int count, AtLink at_link) const {
  if (cross_.empty()) {
    CrossOver<false>(burst, count, at_link);
  } else {
    CrossOver<true>(burst, count, at_link);
  }
}

template <class AtLink>
void StageNodes::CrossBack(Message* burst, int count, AtLink at_link) const {
  if (cross_.empty()) {
    CrossBackOver<false>(burst, count, at_link);
  } else {
    CrossBackOver<true>(burst, count, at_link);
  }
}

}  // namespace bfly::dataplane
