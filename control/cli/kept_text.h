// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bfly/v1/fabric.pb.h"

namespace bfly::control {

// What is kept of a fabric: "8 circuits, 1 change to links, 2 links down, 1 node down, 3 sources,
// 12 objects". What there is none of is left out; "nothing but its topology" if there is nothing.
std::string KeptText(const v1::KeptIntent& kept);

}  // namespace bfly::control
