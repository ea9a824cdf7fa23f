// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

namespace bfly::dataplane {

// Inside the fabric a frame is one piece, so that every device can send it and edges can rewrite
// it. MakeWhole replaces a frame in pieces by a copy from `pool`. It returns false and leaves
// `frame` as it was if the pool is empty.
inline bool MakeWhole(rte_mbuf*& frame, rte_mempool* pool) {
  if (frame->nb_segs == 1) return true;
  rte_mbuf* whole = rte_pktmbuf_copy(frame, pool, 0, UINT32_MAX);
  if (whole == nullptr) return false;
  rte_pktmbuf_free(frame);
  frame = whole;
  return true;
}

}  // namespace bfly::dataplane
