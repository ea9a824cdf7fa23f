// SPDX-License-Identifier: Apache-2.0
// The protocols that registry.cc lists, each defined in the file of its name.
#pragma once

#include "control/protocols/protocol.h"

namespace bfly::control {

extern const Protocol kMinimum;
extern const Protocol kGreedy;
extern const Protocol kCollision;
extern const Protocol kValiant;
extern const Protocol kOneChoice;
extern const Protocol kBenes;
extern const Protocol kQLimited;
extern const Protocol kRanadeFlip;
extern const Protocol kDisjoint;

}  // namespace bfly::control
