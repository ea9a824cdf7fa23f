// SPDX-License-Identifier: Apache-2.0
// The path whose fullest link carries the fewest circuits, among all paths of a request.
#pragma once

#include "control/protocols/protocol.h"

namespace bfly::control {

// Of several such paths the first one, by the ports of its hops. Paths over links that a fault
// blocks, or that have no room, are left out. Where no path is left, the first path of all is
// returned, so that the caller can name a link that blocks it.
class BottleneckPath : public PathChooser {
 public:
  // The path depends on the faults and the capacity, which must outlive the object.
  explicit BottleneckPath(const ProtocolOptions& options) : options_(options) {}

  CircuitPath Choose(const LinkLoad& load, Row input, Row output) const override;

 private:
  const ProtocolOptions options_;
};

}  // namespace bfly::control
