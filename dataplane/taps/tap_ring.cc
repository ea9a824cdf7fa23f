// SPDX-License-Identifier: Apache-2.0
#include "dataplane/taps/tap_ring.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "dataplane/telemetry/one_writer.h"

namespace bfly::dataplane {
namespace {

constexpr size_t kLine = 64;

uint8_t* AllocateLines(size_t bytes) {
  void* const memory = std::aligned_alloc(kLine, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<uint8_t*>(memory);
}

}  // namespace

void TapRing::Free::operator()(uint8_t* memory) const { std::free(memory); }

TapRing::TapRing(uint32_t slots, uint32_t snaplen)
    : mask_(slots - 1),
      snaplen_(snaplen),
      slot_bytes_((sizeof(TappedFrame) + snaplen + kLine - 1) / kLine * kLine),
      memory_(AllocateLines(slots * slot_bytes_)) {}

void TapRing::Offer(const TappedFrame& frame, const uint8_t* bytes) {
  const uint32_t head = head_.load(std::memory_order_relaxed);
  if (head - tail_.load(std::memory_order_acquire) > mask_) {
    Bump(dropped_, 1);
    return;
  }
  uint8_t* const slot = SlotOf(head);
  std::memcpy(slot, &frame, sizeof(frame));
  if (frame.kept != 0) std::memcpy(slot + sizeof(frame), bytes, frame.kept);
  Bump(taken_, 1);
  head_.store(head + 1, std::memory_order_release);
}

}  // namespace bfly::dataplane
