// SPDX-License-Identifier: Apache-2.0
// What the input nodes do together: passes of probes, each there and back, with a decision between
// them.
#pragma once

#include <cstdint>

#include "dataplane/programs/message.h"

namespace bfly::dataplane {

// When things happened, in TSC cycles.
struct PassTimes {
  uint64_t begun = 0;     // the first probe left the inputs
  uint64_t turned = 0;    // the last one was at the outputs
  uint64_t returned = 0;  // the last one was back
};

// One virtual call a burst. Called by the worker of the input nodes alone.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // Decides by what came back and says whether there is another pass.
  virtual bool NextPass() = 0;
  // The next probes of the pass, at most `room`; fewer are its last ones.
  virtual int Emit(Probe* burst, int room) = 0;
  // Probes of the pass, back at their inputs.
  virtual void Return(const Probe* burst, int count) = 0;
  // All of the pass are back.
  virtual void PassReturned(const PassTimes& times) = 0;
};

}  // namespace bfly::dataplane
