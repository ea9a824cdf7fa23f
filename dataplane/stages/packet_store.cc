// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/packet_store.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace bfly::dataplane {
namespace {

template <typename T>
T* AddressSpaceFor(uint32_t count) {
  void* const memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("bfly: no address space for queued packets");
    std::abort();
  }
  return static_cast<T*>(memory);
}

}  // namespace

PacketStore::PacketStore(size_t bytes)
    : capacity_(
          static_cast<uint32_t>(std::clamp<size_t>(bytes / sizeof(StoredPacket), 2, UINT32_MAX))) {
  entries_ = AddressSpaceFor<StoredPacket>(capacity_);
  given_back_ = AddressSpaceFor<uint32_t>(capacity_);
}

PacketStore::~PacketStore() {
  munmap(entries_, capacity_ * sizeof(StoredPacket));
  munmap(given_back_, capacity_ * sizeof(uint32_t));
}

}  // namespace bfly::dataplane
