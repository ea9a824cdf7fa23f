// SPDX-License-Identifier: Apache-2.0
// Sends the messages of a ring over a trunk, as frames.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dataplane/in_band/in_band_orders.h"
#include "dataplane/in_band/program_wire.h"
#include "dataplane/programs/message_stream.h"
#include "dataplane/programs/program_frame.h"

namespace bfly::dataplane {

// One worker uses it. `wire` and `from` must outlive the object.
class MessageOutlet {
 public:
  // `back`: the messages go back to the inputs.
  MessageOutlet(ProgramWire& wire, const ProgramFrameRules& rules, MessageRing& from, bool back)
      : wire_(wire), rules_(rules), from_(from), back_(back) {}

  // Begins the run `run`. Messages that wait to go back belong to a run that ended. They are
  // dropped, up to the end of the first pass of `run`, which has no messages.
  void BeginRun(uint64_t run) {
    sender_.Begin(run);
    skips_ = back_;
  }
  uint64_t run() const { return sender_.run(); }
  // As in MessageSender.
  bool at_pass_end() const { return sender_.at_pass_end(); }
  uint32_t total() const { return sender_.total(); }

  // Returns the messages of the next frame, or nothing if no message waits. A kBegin is the first
  // message of a frame, and a kEnd the last.
  std::span<Message> Next();
  // Sends the messages that Next returned. Returns false if the device takes nothing now.
  bool SendNext(std::span<const Message> next);
  // Tells the previous data plane, once, that the run lost messages.
  void SendLost(uint64_t run, int after_stage);

 private:
  void Skip();
  bool Write(const ProgramFrame& frame, const Message* messages);

  ProgramWire& wire_;
  const ProgramFrameRules rules_;
  MessageRing& from_;
  const bool back_;
  MessageSender sender_;
  bool skips_ = false;
  std::array<Message, kMessagesAFrame> waiting_;
  int count_ = 0;  // messages in waiting_
  std::array<uint8_t, kLongestProgramFrame> bytes_;
};

}  // namespace bfly::dataplane
