// SPDX-License-Identifier: Apache-2.0
// A sample as the JSON of `bfly top --json`. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "control/top/sample.h"

namespace bfly::control {

// Figures that are not known, such as the utilisation of a link without a rate, are left out.
// Counts are since the fabric was loaded; names that end in _per_second are means since the sample
// before.
nlohmann::ordered_json SampleJson(const Sample& sample);

}  // namespace bfly::control
