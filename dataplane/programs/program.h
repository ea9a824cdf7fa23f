// SPDX-License-Identifier: Apache-2.0
// A program: an algorithm that the nodes run together, in passes of messages, each there and back,
// with a decision at the input nodes between them.
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
  uint64_t turned = 0;    // the last one was at the outputs
  uint64_t returned = 0;  // the last one was back
};

// The input nodes' half of a program, which remembers and decides; each of its passes (pass.h) is
// what the other nodes do. One virtual call a burst, all by the worker of the input nodes.
class Program {
 public:
  virtual ~Program() = default;
  // Decides by what came back. The next pass, or null: the program has ended.
  virtual const Pass* NextPass() = 0;
  // The next messages of the pass, at most `room`; fewer are its last ones.
  virtual int Emit(Message* burst, int room) = 0;
  // Messages of the pass, back at their inputs.
  virtual void Return(const Message* burst, int count) = 0;
  // All of the pass are back.
  virtual void PassReturned(const PassTimes& times) = 0;
};

// A program that chooses paths and sets circuits up along them.
class CircuitProgram : public Program {
 public:
  // After it ended. `cycles_a_second` is of the times it was given.
  virtual InBandReport Report(const Network& network, double cycles_a_second) const = 0;
};

// A message along each of the paths from the `next`th on, at most `room`; its slot is the place of
// the path.
inline int EmitAlong(std::span<const TaggedPath> paths, size_t& next, Message* burst, int room) {
  const int count = static_cast<int>(std::min(paths.size() - next, static_cast<size_t>(room)));
  for (int i = 0; i < count; ++i, ++next) {
    burst[i] = {
        .tag = paths[next].tag, .row = paths[next].input, .slot = static_cast<uint32_t>(next)};
  }
  return count;
}

}  // namespace bfly::dataplane
