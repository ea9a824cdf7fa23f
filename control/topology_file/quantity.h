// SPDX-License-Identifier: Apache-2.0
// Rates and times as people write them: "100Mbps", "50us". Pure functions; topology files and the
// command line share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

// So many characters a rate or a time may have, spaces included. Texts of them are kept.
inline constexpr size_t kLongestQuantity = 64;

// "a number with one of bps, kbps, Mbps, Gbps, 1bps to 1000Gbps, or none", for messages.
inline constexpr absl::string_view kRateSyntax =
    "a number with a unit, bps, kbps, Mbps or Gbps, from 1bps to 1000Gbps; or none";
inline constexpr absl::string_view kDurationSyntax =
    "a number with a unit, ns, us, ms or s, from 0s to 60s";

// Bits per second; "none" is 0. InvalidArgument quotes the text and says what is allowed.
absl::StatusOr<uint64_t> ParseRate(absl::string_view text);
// Nanoseconds.
absl::StatusOr<uint64_t> ParseDuration(absl::string_view text);

// Writes the rate in the largest unit that needs no fraction.
std::string FormatRate(uint64_t bits_per_second);
std::string FormatDuration(uint64_t nanoseconds);

}  // namespace bfly::control
