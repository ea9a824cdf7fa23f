// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/packet_store.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace bfly::dataplane {

PacketStore::PacketStore(size_t bytes)
    : capacity_(
          static_cast<uint32_t>(std::clamp<size_t>(bytes / sizeof(StoredPacket), 2, UINT32_MAX))) {
  void* const memory = mmap(nullptr, capacity_ * sizeof(StoredPacket), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("bfly: no address space for queued packets");
    std::abort();
  }
  entries_ = static_cast<StoredPacket*>(memory);
}

PacketStore::~PacketStore() { munmap(entries_, capacity_ * sizeof(StoredPacket)); }

// Goes down right children only, of which there are at most log2 of the entries.
uint32_t PacketStore::Merge(uint32_t a, uint32_t b) {
  if (a == 0) return b;
  if (b == 0) return a;
  StoredPacket* top = &entries_[a];
  const StoredPacket& other = entries_[b];
  if (other.key < top->key || (other.key == top->key && other.sequence < top->sequence)) {
    std::swap(a, b);
    top = &entries_[a];
  }
  top->right = Merge(top->right, b);
  const auto rank = [this](uint32_t entry) -> uint64_t {
    return entry == 0 ? 0 : entries_[entry].rank;
  };
  if (rank(top->next) < rank(top->right)) std::swap(top->next, top->right);
  top->rank = (rank(top->right) + 1) & 0xff;
  return a;
}

}  // namespace bfly::dataplane
