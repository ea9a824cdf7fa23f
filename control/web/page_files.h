// SPDX-License-Identifier: Apache-2.0
// The files of the page, which the program carries inside.
#pragma once

#include <string_view>

namespace bfly::control {

struct PageFile {
  std::string_view path;  // "/draw.js"; the page itself is "/"
  std::string_view content_type;
  std::string_view text;
};

// Null: there is no such file.
const PageFile* FindPageFile(std::string_view path);

}  // namespace bfly::control
