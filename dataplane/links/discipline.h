// SPDX-License-Identifier: Apache-2.0
// In which order a link serves the packets that are there, under either clock.
#pragma once

#include <cstdint>

namespace bfly::dataplane {

enum class Discipline : uint8_t {
  kFifo,              // in the order of arrival
  kPriority,          // the most urgent waiting packet goes next; no packet is interrupted
  kProcessorSharing,  // n packets present are each served at rate/n
};

}  // namespace bfly::dataplane
