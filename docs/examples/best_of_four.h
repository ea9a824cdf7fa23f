// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "control/protocols/protocol.h"

namespace bfly::control {

extern const Protocol kBestOfFour;

}  // namespace bfly::control
