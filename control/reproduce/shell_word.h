// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace bfly::control {

// The text as one word of a POSIX shell: in single quotes unless it has only characters that mean
// themselves there.
std::string ShellWord(const std::string& text);

}  // namespace bfly::control
