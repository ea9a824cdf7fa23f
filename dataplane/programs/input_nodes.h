// SPDX-License-Identifier: Apache-2.0
// The two ends of a pass. Messages enter and leave between two markers. Links and rings are first
// in, first out, so a marker says that all messages before it have come, and no barrier is needed.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/programs/disk_nodes.h"
#include "dataplane/programs/program.h"

namespace bfly::dataplane {

using TimeSource = uint64_t (*)();

// All input nodes of the network. The worker of stage 0 runs them all, so programs are put in order
// here.
class InputNodes {
 public:
  explicit InputNodes(TimeSource now) : now_(now) {}

  bool idle() const { return program_ == nullptr; }
  // The markers carry `run`: kBegin in its tag, and kEnd the low half in its slot.
  void Start(Program* program, uint64_t run = 0);
  // Ends the program now, even if messages are on their way.
  void Abandon();

  // Returns the next messages that the inputs send, at most `room`.
  int Emit(Message* burst, int room);
  // Takes messages that came back. Messages of a program that was abandoned are ignored.
  void Return(const Message* burst, int count);
  // Returns the program that has ended since the last call, or null.
  Program* TakeFinished();

  // Counts messages since the object was made; equal to returned() whenever no program runs.
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

// All output nodes. They keep the messages of a pass until its end marker has come, and then send
// all of them back, the marker last.
class OutputNodes {
 public:
  // At most `messages` wait at a time, and nothing is allocated later. `disks` are behind the
  // outputs of a data server and must outlive the object.
  OutputNodes(TimeSource now, size_t messages, DiskNodes* disks = nullptr)
      : now_(now), disks_(disks) {
    waiting_.reserve(messages);
  }

  void Take(const Message* burst, int count);
  // Returns the next messages that go back, at most `room`.
  int Emit(Message* burst, int room);

 private:
  // Drops the messages that wait. They belong to a program that was abandoned when the next pass
  // begins.
  void Forget();

  const TimeSource now_;
  DiskNodes* const disks_;
  std::vector<Message> waiting_;
  size_t next_ = 0;      // the next message of waiting_
  bool turned_ = false;  // the end marker is the last of waiting_
};

}  // namespace bfly::dataplane
