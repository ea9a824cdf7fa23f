// SPDX-License-Identifier: Apache-2.0
// A program is an algorithm that the nodes run together, in passes. In a pass messages go forward
// and come back, and between passes the input nodes decide.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "dataplane/programs/message.h"
#include "dataplane/programs/pass.h"
#include "dataplane/programs/report.h"
#include "topologies/network.h"
#include "topologies/pass_steps.h"

namespace bfly::dataplane {

// When things happened, in TSC cycles.
struct PassTimes {
  uint64_t begun = 0;     // the first message left the inputs
  uint64_t turned = 0;    // the last message was at the outputs
  uint64_t returned = 0;  // the last message was back
};

// The half of a program at the input nodes, which remembers and decides. The other nodes do what
// its passes say (pass.h). There is one virtual call for each burst, and the worker of the input
// nodes makes all calls.
class Program {
 public:
  virtual ~Program() = default;
  // Decides by the messages that came back. Returns the next pass, or null if the program has
  // ended.
  virtual const Pass* NextPass() = 0;
  // Returns the next messages of the pass, at most `room`. If it returns fewer, these are the last
  // messages.
  virtual int Emit(Message* burst, int room) = 0;
  // Takes messages of the pass that are back at their inputs.
  virtual void Return(const Message* burst, int count) = 0;
  // Called when all messages of the pass are back.
  virtual void PassReturned(const PassTimes& times) = 0;
};

// A program that chooses paths and sets circuits up along them.
class CircuitProgram : public Program {
 public:
  // Call it after the program has ended. `cycles_a_second` is the rate of the clock that timed it.
  virtual InBandReport Report(const Network& network, double cycles_a_second) const = 0;
};

// Emits a message along each path from number `next` on, at most `room`. The slot of a message is
// the index of its path.
inline int EmitAlong(std::span<const TaggedPath> paths, size_t& next, Message* burst, int room) {
  const int count = static_cast<int>(std::min(paths.size() - next, static_cast<size_t>(room)));
  for (int i = 0; i < count; ++i, ++next) {
    burst[i] = {
        .tag = paths[next].tag, .row = paths[next].input, .slot = static_cast<uint32_t>(next)};
  }
  return count;
}

}  // namespace bfly::dataplane
