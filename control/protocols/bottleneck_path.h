// SPDX-License-Identifier: Apache-2.0
// The path whose fullest link carries the fewest circuits, among all paths of a request.
#pragma once

#include "control/protocols/protocol.h"

namespace bfly::control {

// Of several such paths the first one, by the ports of its hops. Links that a fault blocks count as
// full. Where every path is blocked, the first path of all is returned, so that the caller can name
// a link that blocks it.
class BottleneckPath : public PathChooser {
 public:
  // `faults` may be null; otherwise it must outlive the object.
  explicit BottleneckPath(const FaultSet* faults) : faults_(faults) {}

  CircuitPath Choose(const LinkLoad& load, Row input, Row output) const override;

 private:
  const FaultSet* const faults_;
};

}  // namespace bfly::control
