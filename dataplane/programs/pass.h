// SPDX-License-Identifier: Apache-2.0
// What the nodes do with the messages of one pass: the half of a program that runs at every stage
// and at the outputs.
#pragma once

#include <cstdint>

#include "dataplane/programs/message.h"

namespace bfly::dataplane {

class DiskNodes;
class StageNodes;

// One virtual call a burst. A pass has no state of its own: what a node remembers is in the
// StageNodes or DiskNodes, so any number of workers may carry messages of one pass at a time. This
// class itself is the bare walk, there and back and nothing else.
class Pass {
 public:
  Pass() = default;
  virtual ~Pass() = default;

  // The marker that opens the pass has come, where messages have not. Only called where `begins`:
  // a set-up alone is two passes over every stage, which would feel one virtual call more.
  virtual void Begin(StageNodes&) const {}
  virtual void Begin(DiskNodes&) const {}
  bool begins() const { return begins_; }
  // Messages at the tails of links of this stage: carries them to the heads.
  virtual void Forward(StageNodes& nodes, Message* burst, int count) const;
  // Messages at the heads: carries them back to the tails. All messages of the pass have gone
  // forward before.
  virtual void Backward(StageNodes& nodes, Message* burst, int count) const;

  // Where there are disks behind the outputs: messages that have come there, and messages that are
  // about to go back after all of the pass have come.
  virtual void Arrive(DiskNodes&, const Message*, int) const {}
  virtual void Leave(const DiskNodes&, Message*, int) const {}

 protected:
  explicit Pass(bool begins) : begins_(begins) {}

 private:
  const bool begins_ = false;
};

inline const Pass kWalkPass;

// Passes have numbers, by which the marker that opens a pass tells every stage what to do.
// `number` is one that NumberOf gave.
const Pass& PassAt(uint32_t number);
// Numbers below it are those of passes.
uint32_t PassCount();
// The pass must be in the list of passes.cc.
uint32_t NumberOf(const Pass& pass);

}  // namespace bfly::dataplane
