// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/packet_store.h"

#include <sys/mman.h>

#include <algorithm>

namespace bfly::dataplane {
namespace {

// Returns null if the system refuses.
template <typename T>
T* AddressSpaceFor(uint32_t count) {
  void* const memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

template <typename T>
void GiveBackAddressSpace(T* memory, uint32_t count) {
  if (memory != nullptr) munmap(memory, count * sizeof(T));
}

}  // namespace

PacketStore::PacketStore(size_t bytes)
    : mapped_(
          static_cast<uint32_t>(std::clamp<size_t>(bytes / sizeof(StoredPacket), 2, UINT32_MAX))) {
  entries_ = AddressSpaceFor<StoredPacket>(mapped_);
  given_back_ = AddressSpaceFor<uint32_t>(mapped_);
  capacity_ = entries_ != nullptr && given_back_ != nullptr ? mapped_ : 1;
}

PacketStore::~PacketStore() {
  GiveBackAddressSpace(entries_, mapped_);
  GiveBackAddressSpace(given_back_, mapped_);
}

}  // namespace bfly::dataplane
