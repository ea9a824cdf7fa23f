// SPDX-License-Identifier: Apache-2.0
// The bytes of an Ethernet frame that carries messages of a program between two data planes: the
// outer Ethernet header, ProgramHeader, the messages. Every field is in network byte order, and
// docs/wire_header.md shows the layout. The code is pure.
#pragma once

#include <cstdint>
#include <type_traits>

#include "dataplane/core/ledger.h"
#include "dataplane/frames/wire_header.h"
#include "dataplane/programs/message.h"
#include "topologies/network.h"

namespace bfly::dataplane {

enum ProgramFlags : uint8_t {
  kProgramBack = 1,  // the messages go back to the inputs
  kProgramLost = 2,  // no messages: the run has lost some at the trunk after stage `lost_after`
};

struct ProgramHeader {
  uint8_t version;       // kWireVersion
  uint8_t type;          // WireType::kProgram
  uint8_t header_bytes;  // 24
  uint8_t flags;         // ProgramFlags; bits not listed are 0
  uint8_t stage;         // the stage before the trunk
  uint8_t messages;      // how many messages follow, with markers; the rest of the frame is padding
  uint8_t lost_after;
  uint8_t zero;
  uint8_t run[8];     // the run of the data plane of the inputs
  uint8_t number[4];  // the number of the frame in its run and direction, from 0
  uint8_t total[4];   // messages of the pass up to the end of this frame, without markers
};
static_assert(sizeof(ProgramHeader) == 24 && alignof(ProgramHeader) == 1 &&
              std::is_trivially_copyable_v<ProgramHeader>);

inline constexpr int kProgramMessageBytes = 24;
inline constexpr int kMessagesAFrame = 60;
inline constexpr int kProgramOverhead = kEthernetBytes + static_cast<int>(sizeof(ProgramHeader));
inline constexpr int kLongestProgramFrame =
    kProgramOverhead + kMessagesAFrame * kProgramMessageBytes;

struct ProgramFrame {
  uint64_t run = 0;
  uint32_t number = 0;
  uint32_t total = 0;
  int messages = 0;
  bool back = false;
  bool lost = false;
  int lost_after = 0;
};

// The rules on which both ends of a trunk agree.
struct ProgramFrameRules {
  uint32_t rows = 0;
  int stages = 0;       // stages of the whole network; a tag has as many bits
  int stage = 0;        // the stage before the trunk
  int messages = 1;     // the most messages in a frame, 1..kMessagesAFrame
  uint32_t passes = 0;  // PassCount() (pass.h)

  // `max_frame_bytes` is the limit of hosts' frames, which the trunk carries too.
  static ProgramFrameRules Of(const Network& network, int after_stage, uint32_t max_frame_bytes,
                              uint32_t passes);
};

// Writes at most kLongestProgramFrame bytes and returns how many. It pads to 60 bytes, the shortest
// Ethernet frame.
int WriteProgramFrame(const ProgramFrame& frame, const ProgramFrameRules& rules,
                      const Message* messages, uint8_t* out);

// Whether the header of a frame that a trunk received says that the frame carries messages.
bool IsProgramFrame(const uint8_t* bytes, uint32_t length);

// Reads a frame. `messages` must have room for kMessagesAFrame. If it returns false, `reason` says
// what is wrong. If it returns true, only the first message may be a kBegin, which has the run of
// the frame and names a pass that exists, and only the last may be a kEnd, which has the low half
// of the run. Rows and tags fit the network.
bool ReadProgramFrame(const uint8_t* bytes, uint32_t length, const ProgramFrameRules& rules,
                      ProgramFrame& frame, Message* messages, DropReason& reason);

}  // namespace bfly::dataplane
