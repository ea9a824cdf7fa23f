// SPDX-License-Identifier: Apache-2.0
// Lines of styled text. A view makes them, and a terminal or a plain file shows them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bfly::control {

// Five shades from "some" to "the busiest".
inline constexpr int kShades = 5;

enum class Ink : uint8_t {
  kPlain,
  kBold,
  kDim,
  kBad,      // something is wrong
  kReverse,  // what is chosen
  kShade0,   // the five backgrounds, kShade0 + 0 to kShade0 + 4
  kShade1,
  kShade2,
  kShade3,
  kShade4,
};
inline Ink InkOfShade(int shade) {
  return static_cast<Ink>(static_cast<int>(Ink::kShade0) + shade);
}

struct Span {
  std::string text;  // UTF-8; every character takes one column
  Ink ink = Ink::kPlain;
  friend bool operator==(const Span&, const Span&) = default;
};
using Line = std::vector<Span>;

// What a terminal or a file can take.
struct Canvas {
  uint32_t columns = 80;
  uint32_t lines = 24;
  bool colour = false;  // background colours; otherwise shade characters
  bool utf8 = true;     // otherwise ASCII alone
};

inline Line PlainLine(std::string text) { return {Span{std::move(text), Ink::kPlain}}; }

uint32_t Width(const std::string& text);
uint32_t Width(const Line& line);
// The first `columns` columns of the line.
Line Cut(const Line& line, uint32_t columns);
std::string PlainText(const Line& line);
// With the escape sequences of xterm's 256 colours.
std::string AnsiText(const Line& line);

// A copy of text from elsewhere without control characters: a question mark stands for each.
std::string Printable(std::string text);

}  // namespace bfly::control
