// SPDX-License-Identifier: Apache-2.0
// The JSON that the page gets. Pure functions of what was read.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "bfly/v1/circuits.pb.h"
#include "bfly/v1/route.pb.h"
#include "control/web/fabric_watch.h"
#include "control/web/link_sample.h"

namespace bfly::control {

// The fabric's name and network, and what is wrong with it in words.
nlohmann::ordered_json TopologyAnswer(const FabricWatch::Known& known);
// Stages, bands and the hottest links. Rows of numbers come with the names of their columns.
nlohmann::ordered_json LoadAnswer(const FabricSample& sample, uint32_t bands, LinkFigure by,
                                  size_t hottest);
// Links one by one.
nlohmann::ordered_json LinksAnswer(const FabricSample& sample,
                                   const std::vector<SampledLink>& links);
nlohmann::ordered_json CircuitsAnswer(const v1::ListResponse& list);
nlohmann::ordered_json PortsAnswer(const FabricWatch::Known& known);
nlohmann::ordered_json HistoryAnswer(const FabricWatch::Known& known);
// The programs that can be recorded, and the names of permutations.
nlohmann::ordered_json ProgramsAnswer();
// A recording, of the fabric with this number.
nlohmann::ordered_json ProgramAnswer(uint64_t fabric, const v1::RouteRecording& recording);

}  // namespace bfly::control
