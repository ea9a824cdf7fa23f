// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/narrow_block.h"

#if BFLY_HAS_NARROW_VECTORS

#include <bit>
#include <cstring>
#include <utility>

namespace bfly::dataplane {

NarrowBlock::NarrowBlock(std::span<const BlockWiring> wiring, const StageWindow& window,
                         BlockScratch& scratch)
    : wiring_(wiring),
      window_(window),
      scratch_(scratch),
      narrow_(scratch.narrow),
      scale_(kMostBucketBits - window.bucket_bits) {
  const size_t lists = 2 * wiring[0].nodes();
  if (narrow_.in.size() < lists) narrow_.in.resize(lists), narrow_.out.resize(lists);
  narrow_.words.Begin(static_cast<int>(wiring.size()));
}

void NarrowBlock::TakeSource(size_t node, PacketList list) {
  narrow_.entering().Extend(entered_ + list.count);
  narrow_.words.Reserve(list.count);
  narrow_.words.AppendPackets(list.first, list.count, window_.start, scale_,
                              narrow_.entering().offsets.data() + entered_,
                              narrow_.entering().handles.data() + entered_);
  narrow_.in[2 * node].count = list.count;
  narrow_.in[2 * node + 1].count = 0;
  entered_ += list.count;
}

void NarrowBlock::TakePacked(const PacketList* lists, const uint32_t* from) {
  const size_t nodes = wiring_[0].nodes();
  size_t packets = 0;
  for (size_t node = 0; node < nodes; ++node) {
    packets += lists[from[node]].count + lists[from[node] + 1].count;
  }
  narrow_.entering().ReserveHandles(packets);
  narrow_.words.Reserve(packets);
  uint32_t* handles = narrow_.entering().handles.data();
  for (size_t to = 0; to < 2 * nodes; ++to) {
    const PacketList& list = lists[from[to / 2] + to % 2];
    const auto* const words = reinterpret_cast<const PacketWord*>(list.first);
    narrow_.words.Append(words, list.count, 0, handles);
    narrow_.in[to] = {reinterpret_cast<const uint32_t*>(words + list.count), handles, list.count,
                      list.occupied};
    handles += list.count;
  }
}

void NarrowBlock::Run(std::span<StageBlock> blocks, NodeState* nodes) {
  if (window_.from_source) {
    // The arrays do not move from here on.
    const uint32_t* offsets = narrow_.entering().offsets.data();
    const uint32_t* handles = narrow_.entering().handles.data();
    for (size_t node = 0; node < wiring_[0].nodes(); ++node) {
      NarrowList& list = narrow_.in[2 * node];
      list = {offsets, handles, list.count, 0};
      offsets += list.count;
      handles += list.count;
    }
  }
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    const BlockWiring& wiring = wiring_[stage];
    StageWindow when = window_;
    when.from_source = stage == 0 && window_.from_source;
    const bool is_last = stage + 1 == blocks.size();
    const NarrowLists lists{.in = narrow_.in.data(),
                            .to = is_last ? nullptr : wiring.out.data(),
                            .out = narrow_.out.data(),
                            .arena = &narrow_.arenas[stage & 1],
                            .crossed = static_cast<int>(stage) + 1};
    RunNarrowWindow(blocks[stage], wiring, nodes + stage * wiring.nodes(), lists, when, narrow_,
                    scratch_.kept);
    std::swap(narrow_.in, narrow_.out);
  }
}

BFLY_NARROW_VECTORS void NarrowBlock::Deliver(size_t link, DelaySink& sink) const {
  constexpr size_t kMost = StageWindow::kMostBuckets + kVector;
  const NarrowList& list = narrow_.in[link];
  PacketWord words[kMost];
  uint32_t buckets[kMost];
  Ticks times[kMost];
  uint32_t* end = buckets;
  __m256i first = _mm256_setzero_si256();
  for (uint32_t occupied = list.occupied; occupied != 0; occupied >>= kVector) {
    const uint32_t here = occupied & 0xFF;
    WordTable::Store(end, _mm256_add_epi32(first, NarrowSplitter::Wanted(here)));
    end += std::popcount(here);
    first = _mm256_add_epi32(first, _mm256_set1_epi32(kVector));
  }
  for (uint32_t i = 0; i < list.count; ++i) words[i] = narrow_.words.WordBehind(list.handles[i]);
  const __m256i start = _mm256_set1_epi64x(static_cast<int64_t>(window_.start));
  const __m128i scale = _mm_cvtsi32_si128(scale_);
  for (uint32_t i = 0; i < list.count; i += kVector) {
    const __m256i offset = WordTable::Load(list.offsets + i), bucket = WordTable::Load(buckets + i);
    const __m256i low = _mm256_unpacklo_epi32(offset, bucket);
    const __m256i high = _mm256_unpackhi_epi32(offset, bucket);
    const __m256i early = _mm256_permute2x128_si256(low, high, 0x20);
    const __m256i late = _mm256_permute2x128_si256(low, high, 0x31);
    WordTable::Store(times + i, _mm256_add_epi64(start, _mm256_srl_epi64(early, scale)));
    WordTable::Store(times + i + 4, _mm256_add_epi64(start, _mm256_srl_epi64(late, scale)));
  }
  sink.TakeNarrow(times, words, list.count, window_.inner);
}

void NarrowBlock::Pack(size_t link, Boundary& boundary, int worker, size_t to) const {
  const NarrowList& list = narrow_.in[link];
  VirtualPacket* const place = boundary.Place(worker, to, list.count, list.occupied);
  auto* const words = reinterpret_cast<PacketWord*>(place);
  for (uint32_t i = 0; i < list.count; ++i) words[i] = narrow_.words.WordBehind(list.handles[i]);
  std::memcpy(words + list.count, list.offsets, list.count * sizeof(uint32_t));
}

}  // namespace bfly::dataplane
#endif
