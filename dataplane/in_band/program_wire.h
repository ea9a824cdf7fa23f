// SPDX-License-Identifier: Apache-2.0
// The seam between the messages of programs and the device of a trunk.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/core/ledger.h"

namespace bfly::dataplane {

// Where frames with messages go that a trunk received. One worker calls it.
class ProgramFrames {
 public:
  virtual ~ProgramFrames() = default;
  // Why the frame is to be dropped and counted; none if it was taken. The bytes stay the caller's.
  virtual std::optional<DropReason> Take(const uint8_t* frame, uint32_t length) = 0;
};

// A worker that is the only one to use the device calls it.
class ProgramWire {
 public:
  virtual ~ProgramWire() = default;
  // False: the device takes nothing now.
  virtual bool Send(const uint8_t* frame, int length) = 0;
  // Gives at most a burst of frames that have come to `to`. Only of a trunk by which data leaves;
  // where it enters, the trunk's inlet does it.
  virtual void Receive(ProgramFrames& to, Ledger& ledger) = 0;
};

}  // namespace bfly::dataplane
