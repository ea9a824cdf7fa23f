// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bfly::control {

// The commit that this program was built from, with "-dirty" if files had been changed;
// "unknown commit" if it was built outside of a git tree.
const char* Commit();

}  // namespace bfly::control
