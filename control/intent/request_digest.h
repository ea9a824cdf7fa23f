// SPDX-License-Identifier: Apache-2.0
// Stands for a request where the request itself is too long to keep.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace bfly::control {

// A short request itself; of a longer one its length and the 128 bits of XXH3. The same on every
// machine, in every run and version, so that a digest may be kept on disk.
std::string DigestOf(absl::string_view request);

}  // namespace bfly::control
