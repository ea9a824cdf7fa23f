// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "control/reproduce/page.h"

namespace bfly::control {

// The page as one HTML file (page.tpl) that refers to nothing outside of itself. All values but the
// drawings are escaped. Internal: the template is broken.
absl::StatusOr<std::string> PageHtml(const Page& page);

}  // namespace bfly::control
