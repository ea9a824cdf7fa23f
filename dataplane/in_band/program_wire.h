// SPDX-License-Identifier: Apache-2.0
// The interfaces between the messages of programs and the device of a trunk.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/core/ledger.h"

namespace bfly::dataplane {

// Takes the frames with messages that a trunk received. One worker calls it.
class ProgramFrames {
 public:
  virtual ~ProgramFrames() = default;
  // Returns the reason for which the caller must drop and count the frame, or nothing if the frame
  // was taken. The caller keeps the bytes.
  virtual std::optional<DropReason> Take(const uint8_t* frame, uint32_t length) = 0;
};

// The only worker that uses the device calls it.
class ProgramWire {
 public:
  virtual ~ProgramWire() = default;
  // Returns false if the device takes no frame now.
  virtual bool Send(const uint8_t* frame, int length) = 0;
  // Gives at most a burst of received frames to `to`. Call it only on a trunk by which data leaves;
  // on a trunk by which data enters, the trunk's inlet receives.
  virtual void Receive(ProgramFrames& to, Ledger& ledger) = 0;
};

}  // namespace bfly::dataplane
