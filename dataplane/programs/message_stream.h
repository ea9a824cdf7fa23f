// SPDX-License-Identifier: Apache-2.0
// The two ends of the messages of programs that cross a trunk in one direction. A trunk may lose,
// double and overtake frames, while a pass is right only if each of its messages comes once. So
// frames are numbered and messages counted: what does not fit ends the run. Pure.
#pragma once

#include <cstdint>

#include "dataplane/programs/message.h"
#include "dataplane/programs/program_frame.h"

namespace bfly::dataplane {

// A run is a program, and what prepares it, from the first pass to the last. The high half of its
// number is drawn by the data plane of the inputs, the low half counts. 0: none.
using RunNumber = uint64_t;

inline bool IsNext(RunNumber run, RunNumber before) {
  return run >> 32 == before >> 32 &&
         static_cast<uint32_t>(run) == static_cast<uint32_t>(before) + 1;
}

class MessageSender {
 public:
  // The next frame is the first one of `run`.
  void Begin(RunNumber run) {
    run_ = run;
    number_ = 0;
    total_ = 0;
    at_pass_end_ = true;
  }
  RunNumber run() const { return run_; }

  // The frame that carries these, of which there is at least one; a kBegin can only be the first, a
  // kEnd the last. It counts as sent when Sent is called.
  ProgramFrame FrameFor(const Message* messages, int count, bool back) const;
  void Sent(const ProgramFrame& frame, const Message* messages);

  // Whether the pass that began last has been sent whole, and its messages so far.
  bool at_pass_end() const { return at_pass_end_; }
  uint32_t total() const { return total_; }

 private:
  RunNumber run_ = 0;
  uint32_t number_ = 0;  // of the next frame
  uint32_t total_ = 0;
  bool at_pass_end_ = true;
};

class MessageReceiver {
 public:
  enum class Verdict : uint8_t {
    kTake,
    kAgain,    // a frame that came before
    kForeign,  // a frame of a run that has ended here, or that nobody has begun here
    kLost,     // it shows that messages are missing, or it lies: the run has ended here
  };

  // `forward`: a kBegin may begin a new run. At most `most` messages a pass.
  MessageReceiver(bool forward, uint32_t most) : forward_(forward), most_(most) {}

  // What comes next is the first frame of `run`.
  void Begin(RunNumber run);
  // The run has ended here.
  void End() { ended_ = true; }

  RunNumber run() const { return run_; }
  bool ended() const { return ended_; }
  // Messages of the pass so far, and after its end until the next one begins.
  uint32_t total() const { return total_; }

  // `frame` is one that ReadProgramFrame accepted.
  Verdict Take(const ProgramFrame& frame, const Message* messages);

 private:
  bool BeginsRun(const ProgramFrame& frame, const Message* messages) const;
  bool Fits(const ProgramFrame& frame, const Message* messages);

  const bool forward_;
  const uint32_t most_;
  RunNumber run_ = 0;
  uint32_t next_ = 0;  // number of the next frame
  uint32_t total_ = 0;
  bool in_pass_ = false;
  bool ended_ = true;
};

}  // namespace bfly::dataplane
