// SPDX-License-Identifier: Apache-2.0
// The two ends of a pass. Messages enter and leave between two markers; links and rings are first
// in, first out, so a marker says that all before it have come: no barrier is needed.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/programs/disk_nodes.h"
#include "dataplane/programs/program.h"

namespace bfly::dataplane {

using TimeSource = uint64_t (*)();

// All input nodes of the network: one worker runs them, since one worker runs stage 0. That makes
// them the one place where programs are put in order.
class InputNodes {
 public:
  explicit InputNodes(TimeSource now) : now_(now) {}

  bool idle() const { return program_ == nullptr; }
  // Its markers carry `run`: kBegin in its tag, kEnd the low half in its slot.
  void Start(Program* program, uint64_t run = 0);
  // Ends it now, whatever of it is on its way.
  void Abandon();

  // What they send now, at most `room`.
  int Emit(Message* burst, int room);
  // What came back. Nothing is done with what is left of a program that was abandoned.
  void Return(const Message* burst, int count);
  // The program that ended since it was last asked, or null.
  Program* TakeFinished();

  // Ever; equal whenever no program runs.
  uint64_t sent() const { return sent_; }
  uint64_t returned() const { return returned_; }
  uint64_t passes() const { return passes_; }

 private:
  enum class State : uint8_t { kDeciding, kSending, kWaiting };

  const TimeSource now_;
  Program* program_ = nullptr;
  uint64_t run_ = 0;
  Program* finished_ = nullptr;
  State state_ = State::kDeciding;
  PassTimes times_;
  uint64_t sent_ = 0;
  uint64_t returned_ = 0;
  uint64_t passes_ = 0;
};

// All output nodes: they keep the messages of a pass until its end marker has come, and then send
// all back, the marker last.
class OutputNodes {
 public:
  // At most `messages` at a time: nothing is allocated later. `disks`: what is behind the outputs
  // of a data server; outlives the object.
  OutputNodes(TimeSource now, size_t messages, DiskNodes* disks = nullptr)
      : now_(now), disks_(disks) {
    waiting_.reserve(messages);
  }

  void Take(const Message* burst, int count);
  // What goes back now, at most `room`.
  int Emit(Message* burst, int room);

 private:
  // What waits is gone; of a program that was abandoned, when the next pass begins.
  void Forget();

  const TimeSource now_;
  DiskNodes* const disks_;
  std::vector<Message> waiting_;
  size_t next_ = 0;      // of waiting_
  bool turned_ = false;  // the end marker stands last in waiting_
};

}  // namespace bfly::dataplane
