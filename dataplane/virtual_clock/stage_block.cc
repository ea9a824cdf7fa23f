// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/stage_block.h"

#include <algorithm>

#include "dataplane/virtual_clock/stage_block_window.h"

namespace bfly::dataplane {

void StageBlock::RunWindow(const BlockWiring& wiring, NodeState* nodes, const NodeLists& lists,
                           PacketArena& places, const StageWindow& when,
                           std::vector<PacketWord>& kept) {
  // Code that reads whole strides has something to read.
  if (queue_.empty()) queue_.resize(kStride);
  uint64_t arrivals = 0, leaving = queue_.size(), shortened = 0;
  for (size_t node = 0; node < wiring.nodes(); ++node) arrivals += lists.Arrivals(node);
  for (size_t link = 0; link < long_.size(); ++link) {
    if (long_[link] == nullptr) continue;
    const NodeState& node = nodes[link / 2];
    shortened += kShortAgain;
    leaving +=
        long_[link]->waiting() - CountQueued(node.free[link % 2], when.end, wiring.service[link]);
  }
  const size_t links = 2 * wiring.nodes();
  // Without vectors all packets that arrive may go to either port.
  VirtualPacket* place =
      places.Reserve(when.bucket_bits >= 0 ? leaving + arrivals + 2 * kStride
                                           : leaving + 2 * arrivals + links * kStride + kStride);
  const size_t most = queue_.size() + arrivals + shortened + kStride + links;
  if (kept.size() < most) kept.resize(most);
  Window window(*this, wiring, nodes, lists, place, when, kept.data());
#if BFLY_HAS_PACKET_VECTORS
  if (when.bucket_bits >= 0) {
    window.RunVectors();
  } else {
    window.Run();
  }
#else
  window.Run();
#endif
  handled_ += arrivals;
  KeepQueue(kept, window.kept());
}

void StageBlock::KeepQueue(const std::vector<PacketWord>& kept, size_t count) {
  // Copies of whole strides read past the end. Queues come and go: each has the memory it needs
  // now, and an eighth more.
  const size_t words = count + kStride;
  if (words > queue_.capacity() || words + words / 8 + kStride < queue_.capacity()) {
    queue_ = {};
    queue_.reserve(words + words / 16);
  }
  queue_.assign(kept.data(), kept.data() + words);
}

uint64_t StageBlock::queued() const {
  uint64_t sum = queue_.empty() ? 0 : queue_.size() - kStride;
  for (const auto& queue : long_) {
    if (queue) sum += queue->waiting();
  }
  return sum;
}

size_t StageBlock::bytes() const {
  size_t sum = sizeof(*this) + queue_.capacity() * sizeof(PacketWord) +
               wraps_.capacity() * sizeof(wraps_[0]) + long_.capacity() * sizeof(long_[0]);
  for (const auto& queue : long_) {
    if (queue) sum += sizeof(*queue) + queue->words.capacity() * sizeof(PacketWord);
  }
  return sum;
}

size_t BlockScratch::bytes() const {
  size_t sum = 0;
  for (const DelayHistogram& histogram : delays) sum += histogram.bytes();
#if BFLY_HAS_NARROW_VECTORS
  sum += narrow.bytes();
#endif
  return sum + arrivals.capacity() * sizeof(VirtualPacket) + packets[0].bytes() +
         packets[1].bytes() + kept.capacity() * sizeof(PacketWord) + sharers.bytes() +
         classed.bytes() + (in.capacity() + out.capacity()) * sizeof(PacketList);
}

}  // namespace bfly::dataplane
