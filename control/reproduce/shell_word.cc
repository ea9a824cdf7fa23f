// SPDX-License-Identifier: Apache-2.0
#include "control/reproduce/shell_word.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

std::string ShellWord(const std::string& text) {
  constexpr absl::string_view kPlain = "/._-=,:+%@";
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           kPlain.find(c) != absl::string_view::npos;
  });
  return plain ? text : absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace bfly::control
