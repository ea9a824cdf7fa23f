// SPDX-License-Identifier: Apache-2.0
// Numbers as a person reads them at a glance.
#pragma once

#include <optional>
#include <string>

namespace bfly::control {

// At most four digits and a unit: "812", "43.1k", "7.25M".
std::string Count(double value);
// "12.5%", "100%"; "-" for nothing.
std::string Percent(std::optional<double> share);
// Nanoseconds in the largest unit that leaves a whole number: "812 ns", "43.1 us", "7.25 ms".
std::string Nanoseconds(double value);

}  // namespace bfly::control
