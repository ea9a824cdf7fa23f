// SPDX-License-Identifier: Apache-2.0
// Whole numbers as YAML 1.2 writes them (its core schema, section 10.3).
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace bfly::control {

// The decimal digits of a whole number that stands without quotes: "16" of 16, +16, 0x10,
// 0o20, 16.0 and 1.6e1. A reader of JSON cannot tell these apart. Nothing if the text is not
// such a number, is below 0, or does not fit into 64 bits.
std::optional<std::string> WholeNumberOf(absl::string_view text);

}  // namespace bfly::control
