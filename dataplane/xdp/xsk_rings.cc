// SPDX-License-Identifier: Apache-2.0
#include "dataplane/xdp/xsk_rings.h"

#include <linux/if_xdp.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace bfly::dataplane {
namespace {

bool IsRing(uint64_t kind) {
  return kind == XDP_PGOFF_RX_RING || kind == XDP_PGOFF_TX_RING ||
         kind == XDP_UMEM_PGOFF_FILL_RING || kind == XDP_UMEM_PGOFF_COMPLETION_RING;
}

// The file descriptor of a socket, -1 if it is closed.
int DescriptorOf(uint64_t socket) {
  const std::string name = absl::StrCat("socket:[", socket, "]");
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    int fd = -1;
    if (std::filesystem::read_symlink(entry.path(), error) == name &&
        absl::SimpleAtoi(entry.path().filename().string(), &fd)) {
      return fd;
    }
  }
  return -1;
}

std::optional<xdp_mmap_offsets> OffsetsOf(uint64_t socket) {
  xdp_mmap_offsets offsets{};
  socklen_t size = sizeof(offsets);
  if (getsockopt(DescriptorOf(socket), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &size) == 0 &&
      size == sizeof(offsets)) {
    return offsets;
  }
  return std::nullopt;
}

const xdp_ring_offset& OffsetOf(uint64_t kind, const xdp_mmap_offsets& offsets) {
  switch (kind) {
    case XDP_PGOFF_RX_RING:
      return offsets.rx;
    case XDP_PGOFF_TX_RING:
      return offsets.tx;
    case XDP_UMEM_PGOFF_FILL_RING:
      return offsets.fr;
    default:
      return offsets.cr;
  }
}

uint32_t IndexAt(uint8_t* at) {
  return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(at))
      .load(std::memory_order_acquire);
}

// The entries between consumer and producer: addresses in the memory of the socket.
std::vector<uint64_t> AddressesIn(const XskRing& ring, const xdp_ring_offset& at) {
  const bool of_descriptors = ring.kind == XDP_PGOFF_RX_RING || ring.kind == XDP_PGOFF_TX_RING;
  const size_t entry = of_descriptors ? sizeof(xdp_desc) : sizeof(uint64_t);
  // The number of entries is a power of two, at least a thousand, and they fill more than half of
  // their pages.
  const auto slots = static_cast<uint32_t>(std::bit_floor((ring.bytes - at.desc) / entry));
  const uint32_t producer = IndexAt(ring.start + at.producer);
  std::vector<uint64_t> addresses;
  for (uint32_t i = IndexAt(ring.start + at.consumer); i != producer; ++i) {
    if (addresses.size() == slots) break;
    // An xdp_desc begins with its address.
    const uint8_t* const from = ring.start + at.desc + entry * (i & (slots - 1));
    addresses.push_back(*reinterpret_cast<const uint64_t*>(from));
  }
  return addresses;
}

}  // namespace

std::vector<XskRing> XskRings() {
  std::vector<XskRing> rings;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin, end;
    uint64_t kind, socket;
    if (std::sscanf(line.c_str(),
                    "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNx64 " %*s %*s socket:[%" SCNu64, &begin,
                    &end, &kind, &socket) == 4 &&
        IsRing(kind)) {
      rings.push_back({.socket = socket,
                       .kind = kind,
                       .start = reinterpret_cast<uint8_t*>(begin),
                       .bytes = end - begin});
    }
  }
  return rings;
}

std::vector<XskRing> Without(const std::vector<XskRing>& rings,
                             const std::vector<XskRing>& others) {
  std::vector<XskRing> rest;
  for (const XskRing& ring : rings) {
    if (std::find(others.begin(), others.end(), ring) == others.end()) rest.push_back(ring);
  }
  return rest;
}

std::vector<rte_mbuf*> BuffersIn(const std::vector<XskRing>& rings, const rte_mempool* pool) {
  // The layout that the driver uses: the memory begins at the page of the pool's first object, and
  // an address is that of the object, behind which the buffer begins.
  const rte_mempool_memhdr* const memory = STAILQ_FIRST(&pool->mem_list);
  const auto page = static_cast<uintptr_t>(getpagesize());
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory->addr) & ~(page - 1);
  std::vector<rte_mbuf*> buffers;
  for (const XskRing& ring : rings) {
    const std::optional<xdp_mmap_offsets> offsets = OffsetsOf(ring.socket);
    if (!offsets.has_value()) continue;
    for (uint64_t address : AddressesIn(ring, OffsetOf(ring.kind, *offsets))) {
      address &= XSK_UNALIGNED_BUF_ADDR_MASK;
      buffers.push_back(reinterpret_cast<rte_mbuf*>(begin + address + pool->header_size));
    }
  }
  return buffers;
}

void CloseLeft(const std::vector<XskRing>& rings) {
  if (rings.empty()) return;
  const std::vector<XskRing> mapped = XskRings();
  for (const XskRing& ring : rings) {
    if (std::find(mapped.begin(), mapped.end(), ring) != mapped.end()) {
      munmap(ring.start, ring.bytes);
    }
    const int fd = DescriptorOf(ring.socket);
    int domain = AF_UNSPEC;
    socklen_t size = sizeof(domain);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_XDP) close(fd);
  }
}

}  // namespace bfly::dataplane
