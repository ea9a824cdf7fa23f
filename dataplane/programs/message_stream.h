// SPDX-License-Identifier: Apache-2.0
// The two ends of a stream of messages that crosses a trunk in one direction. A trunk may lose,
// double and reorder frames, but a pass is right only if each of its messages comes once. So frames
// are numbered and messages are counted, and a frame that does not fit ends the run. The code is
// pure.
#pragma once

#include <cstdint>

#include "dataplane/programs/message.h"
#include "dataplane/programs/program_frame.h"

namespace bfly::dataplane {

// A run is a program together with the passes that prepare it. The data plane of the inputs draws
// the high half of the run's number, and the low half counts. 0 means no run.
using RunNumber = uint64_t;

inline bool IsNext(RunNumber run, RunNumber before) {
  return run >> 32 == before >> 32 &&
         static_cast<uint32_t>(run) == static_cast<uint32_t>(before) + 1;
}

class MessageSender {
 public:
  // Makes the next frame the first frame of `run`.
  void Begin(RunNumber run) {
    run_ = run;
    number_ = 0;
    total_ = 0;
    at_pass_end_ = true;
  }
  RunNumber run() const { return run_; }

  // Returns the frame that carries these messages, at least one. Only the first may be a kBegin,
  // only the last a kEnd. The frame counts as sent when Sent is called.
  ProgramFrame FrameFor(const Message* messages, int count, bool back) const;
  void Sent(const ProgramFrame& frame, const Message* messages);

  // Whether all messages of the pass that began last have been sent.
  bool at_pass_end() const { return at_pass_end_; }
  // How many messages of that pass have been sent.
  uint32_t total() const { return total_; }

 private:
  RunNumber run_ = 0;
  uint32_t number_ = 0;  // the number of the next frame
  uint32_t total_ = 0;
  bool at_pass_end_ = true;
};

class MessageReceiver {
 public:
  enum class Verdict : uint8_t {
    kTake,
    kAgain,    // a frame that came before
    kForeign,  // a frame of a run that has ended here, or that has not begun here
    kLost,     // messages are missing, or the frame is false: the run has ended here
  };

  // `forward`: a kBegin may begin a new run. A pass has at most `most` messages.
  MessageReceiver(bool forward, uint32_t most) : forward_(forward), most_(most) {}

  // The next frame must be the first frame of `run`.
  void Begin(RunNumber run);
  // Notes that the run has ended here.
  void End() { ended_ = true; }

  RunNumber run() const { return run_; }
  bool ended() const { return ended_; }
  // How many messages of the pass have come so far. The number stays from the end of a pass until
  // the next pass begins.
  uint32_t total() const { return total_; }

  // ReadProgramFrame must have accepted `frame`.
  Verdict Take(const ProgramFrame& frame, const Message* messages);

 private:
  bool BeginsRun(const ProgramFrame& frame, const Message* messages) const;
  bool Fits(const ProgramFrame& frame, const Message* messages);

  const bool forward_;
  const uint32_t most_;
  RunNumber run_ = 0;
  uint32_t next_ = 0;  // the number of the next frame
  uint32_t total_ = 0;
  bool in_pass_ = false;
  bool ended_ = true;
};

}  // namespace bfly::dataplane
