// SPDX-License-Identifier: Apache-2.0
// The colours of figures, and of pages that show figures. Curve i has the same hue on light and on
// dark paper.
#pragma once

#include <array>

namespace bfly::control {

struct Palette {
  const char* paper;
  const char* ink;    // text and marks
  const char* faint;  // the grid
  const char* frame;  // the frame of a panel
  std::array<const char*, 8> curves;
};

inline constexpr Palette kLightPalette = {
    "#ffffff",
    "#1d2125",
    "#e2e5e8",
    "#6b7278",
    {"#1f6fb4", "#c8500a", "#1a8a4f", "#7b4fb5", "#b8233a", "#0f8391", "#8a6508", "#b53a8c"}};
inline constexpr Palette kDarkPalette = {
    "#14171a",
    "#dfe3e8",
    "#2e343a",
    "#8a929b",
    {"#6db3f2", "#ff9d5c", "#5fd08e", "#bf9bf0", "#ff8293", "#56cfe0", "#e0bd55", "#f08fcf"}};

}  // namespace bfly::control
