// SPDX-License-Identifier: Apache-2.0
// What the nodes do with the messages of one pass. This half of a program runs at every stage and
// at the outputs.
#pragma once

#include <cstdint>

#include "dataplane/programs/message.h"

namespace bfly::dataplane {

class DiskNodes;
class StageNodes;

// There is one virtual call for each burst. A pass has no state of its own: what a node remembers
// is in StageNodes or DiskNodes, so any number of workers may carry messages of one pass at a time.
// This class itself only walks messages there and back.
class Pass {
 public:
  Pass() = default;
  virtual ~Pass() = default;

  // Called when the marker that opens the pass has come, before any message. Only called if
  // `begins`: the set-up of one circuit is two passes over every stage, where one virtual call more
  // costs time.
  virtual void Begin(StageNodes&) const {}
  virtual void Begin(DiskNodes&) const {}
  bool begins() const { return begins_; }
  // Carries messages at the tails of links of this stage to the heads.
  virtual void Forward(StageNodes& nodes, Message* burst, int count) const;
  // Carries messages at the heads back to the tails. All messages of the pass have gone forward
  // before.
  virtual void Backward(StageNodes& nodes, Message* burst, int count) const;

  // If there are disks behind the outputs: Arrive gets messages that have come there, Leave gets
  // messages that are about to go back. All messages of the pass have come before the first one
  // leaves.
  virtual void Arrive(DiskNodes&, const Message*, int) const {}
  virtual void Leave(const DiskNodes&, Message*, int) const {}

 protected:
  explicit Pass(bool begins) : begins_(begins) {}

 private:
  const bool begins_ = false;
};

inline const Pass kWalkPass;

// Passes have numbers. The marker that opens a pass carries its number and so tells every stage
// what to do. NumberOf must have returned `number`.
const Pass& PassAt(uint32_t number);
// The numbers of passes are below it.
uint32_t PassCount();
// The list in passes.cc must have the pass.
uint32_t NumberOf(const Pass& pass);

}  // namespace bfly::dataplane
