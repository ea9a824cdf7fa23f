// SPDX-License-Identifier: Apache-2.0
// Stands for a request where the request itself is too long to keep.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace bfly::control {

// Returns a short request itself, and of a longer one its length and the 128 bits of its XXH3. The
// digest is the same on every machine and in every version, so it may be kept on disk.
std::string DigestOf(absl::string_view request);

}  // namespace bfly::control
