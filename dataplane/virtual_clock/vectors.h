// SPDX-License-Identifier: Apache-2.0
// Which vectors the stages of the virtual clock may use.
#pragma once

namespace bfly::dataplane {

enum class Vectors {
  kNone,    // packets are taken one by one
  kNarrow,  // eight at a time where the CPU has AVX2 (narrow_vectors.h)
  kWidest,  // eight at a time where the CPU has AVX-512 (packet_vectors.h), otherwise as kNarrow
};

}  // namespace bfly::dataplane
