// SPDX-License-Identifier: Apache-2.0
// How links are written wherever somebody reads or types them.
#pragma once

#include <string>
#include <vector>

#include "topologies/network.h"

namespace bfly {

// "s6 r32 p0". The command line reads it back as a selector of this one link.
std::string LinkText(LinkId link);
// With commas between them.
std::string LinkText(const std::vector<LinkId>& links);

}  // namespace bfly
