// SPDX-License-Identifier: Apache-2.0
#include "control/top/line.h"

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

bool StartsCharacter(char byte) { return (byte & 0xc0) != 0x80; }

const char* Escape(Ink ink) {
  switch (ink) {
    case Ink::kPlain:
      return "";
    case Ink::kBold:
      return "\x1b[1m";
    case Ink::kDim:
      return "\x1b[90m";
    case Ink::kBad:
      return "\x1b[1;31m";
    case Ink::kReverse:
      return "\x1b[7m";
    case Ink::kShade0:
      return "\x1b[97;48;5;23m";
    case Ink::kShade1:
      return "\x1b[97;48;5;29m";
    case Ink::kShade2:
      return "\x1b[97;48;5;100m";
    case Ink::kShade3:
      return "\x1b[97;48;5;130m";
    case Ink::kShade4:
      return "\x1b[97;48;5;124m";
  }
  return "";
}

}  // namespace

uint32_t Width(const std::string& text) {
  uint32_t width = 0;
  for (const char byte : text) width += StartsCharacter(byte) ? 1 : 0;
  return width;
}

uint32_t Width(const Line& line) {
  uint32_t width = 0;
  for (const Span& span : line) width += Width(span.text);
  return width;
}

Line Cut(const Line& line, uint32_t columns) {
  Line cut;
  for (const Span& span : line) {
    if (columns == 0) break;
    Span part{"", span.ink};
    for (const char byte : span.text) {
      if (StartsCharacter(byte)) {
        if (columns == 0) break;
        --columns;
      }
      part.text += byte;
    }
    cut.push_back(std::move(part));
  }
  return cut;
}

std::string PlainText(const Line& line) {
  std::string text;
  for (const Span& span : line) text += span.text;
  return text;
}

std::string AnsiText(const Line& line) {
  std::string text;
  for (const Span& span : line) {
    const char* const escape = Escape(span.ink);
    if (*escape == '\0') {
      text += span.text;
    } else {
      absl::StrAppend(&text, escape, span.text, "\x1b[0m");
    }
  }
  return text;
}

std::string Printable(std::string text) {
  for (char& byte : text) {
    if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) byte = '?';
  }
  return text;
}

}  // namespace bfly::control
