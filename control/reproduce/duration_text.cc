// SPDX-License-Identifier: Apache-2.0
#include "control/reproduce/duration_text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace bfly::control {

std::string DurationText(double seconds) {
  const long whole = std::lround(std::max(0.0, seconds));
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) return absl::StrCat(whole / 60, " min ", whole % 60, " s");
  return absl::StrCat(whole / 3600, " h ", whole % 3600 / 60, " min");
}

}  // namespace bfly::control
