// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bfly/v1/fabric.pb.h"

namespace bfly::control {

// The stages that a worker runs, with the rows where they are not all: "stages 0-1, stages 2-3 of
// rows 0-7". Empty if the worker only polls ports.
std::string StagesText(const v1::WorkerStatus& worker);

}  // namespace bfly::control
