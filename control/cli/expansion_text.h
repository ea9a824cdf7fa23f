// SPDX-License-Identifier: Apache-2.0
// How `bfly describe` prints the expansion of a multibutterfly.
#pragma once

#include <string>

#include "bfly/v1/fabric.pb.h"

namespace bfly::control {

// A table by stage and one by beta, each figure with how it was found. `facts` has an expansion.
std::string ExpansionText(const v1::DescribeResponse& facts);

}  // namespace bfly::control
