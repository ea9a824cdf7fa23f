// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/packet_store.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

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

}  // namespace bfly::dataplane
