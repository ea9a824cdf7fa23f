// SPDX-License-Identifier: Apache-2.0
// The text form of a link, in all output and on the command line.
#pragma once

#include <string>
#include <vector>

#include "topologies/network.h"

namespace bfly {

// "s6 r32 p0". The command line reads it back as a selector of this one link.
std::string LinkText(LinkId link);
// The same for several links, separated by commas.
std::string LinkText(const std::vector<LinkId>& links);

}  // namespace bfly
