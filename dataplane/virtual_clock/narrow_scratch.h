// SPDX-License-Identifier: Apache-2.0
// The working memory of a worker with the vectors of narrow_vectors.h.
#pragma once

#include "dataplane/virtual_clock/narrow_vectors.h"

#if BFLY_HAS_NARROW_VECTORS

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bfly::dataplane {

// The packets of all lists of a stage.
struct NarrowArena {
  std::vector<uint32_t> offsets;
  std::vector<uint32_t> handles;

  // Makes room for `packets` packets in total.
  void Extend(size_t packets) {
    ReserveHandles(packets);
    if (offsets.size() < handles.size()) offsets.resize(handles.size());
  }
  // Makes room only for the handles of `packets` packets in total.
  void ReserveHandles(size_t packets) {
    const size_t needed = packets + kNarrowSpare;
    if (handles.size() < needed) handles.resize(needed + needed / 16);
  }
  size_t bytes() const { return (offsets.capacity() + handles.capacity()) * sizeof(uint32_t); }
};

// Like NodeLists. Node j merges in[2*j] and in[2*j + 1].
struct NarrowLists {
  const NarrowList* in;
  // The packets that leave by `link` are out[to[link]], or out[link] if `to` is null.
  const uint32_t* to;
  NarrowList* out;
  NarrowArena* arena;  // memory for the packets that leave
  int crossed;         // how many stages of the group the leaving packets have crossed
};

struct NarrowScratch {
  static constexpr size_t kNodes = 8;  // nodes that are open at a time

  WordTable words;
  // A stage reads one arena and writes the other; the next stage does so the other way round. The
  // first stage reads the second arena. Offsets of packed lists stay in the boundary.
  NarrowArena arenas[2];
  NarrowArena& entering() { return arenas[1]; }  // the packets that come to the group
  std::vector<NarrowList> in;
  std::vector<NarrowList> out;
  std::vector<uint32_t> queued;  // handles of the packets that wait for links of a stage
  NarrowArrivals arrivals[kNodes][2];

  size_t bytes() const {
    return sizeof(*this) + words.bytes() + arenas[0].bytes() + arenas[1].bytes() +
           (in.capacity() + out.capacity()) * sizeof(NarrowList) +
           queued.capacity() * sizeof(uint32_t);
  }
};

}  // namespace bfly::dataplane
#endif
