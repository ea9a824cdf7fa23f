// SPDX-License-Identifier: Apache-2.0
// Memory for the large tables of the virtual clock and of the engine for extra stages.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <type_traits>

namespace bfly {

// Returns zeroed bytes, on huge pages where the bytes fill some and the system has them: walking a
// network of 65,536 rows on pages of 4 KiB misses the TLB once a node. std::free takes the bytes
// back. Throws std::bad_alloc.
void* AllocatePages(size_t bytes);

template <typename T>
class PageArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PageArray() = default;
  // `size` elements, all bytes zero.
  explicit PageArray(size_t size)
      : size_(size), data_(static_cast<T*>(AllocatePages(size * sizeof(T)))) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }
  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  size_t size_ = 0;
  std::unique_ptr<T, Free> data_;
};

}  // namespace bfly
