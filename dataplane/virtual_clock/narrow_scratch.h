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

  // Makes room for so many packets in all.
  void Extend(size_t packets) {
    ReserveHandles(packets);
    if (offsets.size() < handles.size()) offsets.resize(handles.size());
  }
  // The same without offsets.
  void ReserveHandles(size_t packets) {
    const size_t needed = packets + kNarrowSpare;
    if (handles.size() < needed) handles.resize(needed + needed / 16);
  }
  size_t bytes() const { return (offsets.capacity() + handles.capacity()) * sizeof(uint32_t); }
};

// As NodeLists: node j merges in[2*j] and in[2*j + 1].
struct NarrowLists {
  const NarrowList* in;
  const uint32_t* to;  // what leaves by `link` is out[to[link]], or out[link] if there is no `to`
  NarrowList* out;
  NarrowArena* arena;  // of what leaves
  int crossed;         // stages of the group behind the packets that leave
};

struct NarrowScratch {
  static constexpr size_t kNodes = 8;  // that are open at a time

  WordTable words;
  // In turn what a stage reads and what it writes, the second first. Offsets of packed lists stay
  // in the boundary.
  NarrowArena arenas[2];
  NarrowArena& entering() { return arenas[1]; }  // what comes to the group
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
