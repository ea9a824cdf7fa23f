// SPDX-License-Identifier: Apache-2.0
#include "topologies/page_array.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace bfly {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

void* AllocatePages(size_t bytes) {
  if (bytes == 0) return nullptr;
  const bool huge = bytes >= kHugePage;
  const size_t alignment = huge ? kHugePage : 64;
  void* pages = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (pages == nullptr) throw std::bad_alloc();
  // Only advice: without huge pages all works as well, but slower.
  if (huge) madvise(pages, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  std::memset(pages, 0, bytes);
  return pages;
}

}  // namespace bfly
