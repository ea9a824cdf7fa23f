// SPDX-License-Identifier: Apache-2.0
// What programs send over the links: a message goes forward along a path and comes back along the
// same path (Cole et al. 1998, section 2.1; THEORY.md 2.4).
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "topologies/tag.h"

namespace bfly::dataplane {

// The messages of a pass travel between two markers.
enum class Marker : uint8_t {
  kNone,   // a message
  kBegin,  // opens a pass at every stage and ends at the outputs
  kEnd,  // closes the pass: all messages that were sent before have arrived; comes back as the last
         // message of the pass
};

// A message needs no memory of where it came from. When it crosses stage s forward, it takes the
// port from bit s of its tag, and puts the bit of its row that the port replaced into this bit of
// the tag. When it crosses stage s backward, it puts both bits back. So at the outputs the tag is
// the way home, and at its input the tag is as it was.
struct Message {
  Tag tag = 0;        // kEnd, at the outputs: the TSC when the pass turned round
  Row row = 0;        // where the message is
  uint32_t slot = 0;  // by this the input node knows the message; kBegin: the number of the pass
  // The program uses the next two members. It sends them as 0, and its passes say what they carry.
  uint32_t value = 0;
  std::array<uint8_t, 3> notes = {};
  Marker marker = Marker::kNone;
};
static_assert(sizeof(Message) == 24 && std::is_trivially_copyable_v<Message>);

// Messages are handled in bursts as large as those of data, so data waits no longer for messages
// than for data.
inline constexpr int kMessageBurst = 256;

}  // namespace bfly::dataplane
