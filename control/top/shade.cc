// SPDX-License-Identifier: Apache-2.0
#include "control/top/shade.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace bfly::control {

int Shade(double value, double largest) {
  if (value <= 0 || largest <= 0) return -1;
  return std::clamp(static_cast<int>(std::ceil(value / largest * kShades)) - 1, 0, kShades - 1);
}

const char* ShadeGlyph(int shade, bool utf8) {
  static constexpr const char* kGlyphs[] = {"\u2581", "\u2582", "\u2584", "\u2586", "\u2588"};
  static constexpr const char* kAscii[] = {":", "-", "=", "%", "#"};
  if (shade < 0) return utf8 ? "\u00b7" : ".";
  return utf8 ? kGlyphs[shade] : kAscii[shade];
}

Span ShadeCell(double value, double largest, const Canvas& canvas) {
  const int shade = Shade(value, largest);
  if (shade < 0) return {ShadeGlyph(shade, canvas.utf8), canvas.colour ? Ink::kDim : Ink::kPlain};
  if (canvas.colour) return {" ", InkOfShade(shade)};
  return {ShadeGlyph(shade, canvas.utf8), Ink::kPlain};
}

Line ShadeScale(const Canvas& canvas) {
  Line scale;
  for (int shade = 0; shade < kShades; ++shade) {
    scale.push_back(canvas.colour ? Span{"  ", InkOfShade(shade)}
                                  : Span{ShadeGlyph(shade, canvas.utf8), Ink::kPlain});
  }
  return scale;
}

void Append(Span span, Line& line) {
  if (!line.empty() && line.back().ink == span.ink) {
    line.back().text += span.text;
  } else {
    line.push_back(std::move(span));
  }
}

Line HeatStrip(const std::vector<float>& values, uint32_t cells, double largest,
               const Canvas& canvas) {
  Line strip;
  const size_t count = std::min<size_t>(values.size(), cells);
  for (size_t cell = 0; cell < count; ++cell) {
    const size_t begin = cell * values.size() / count;
    const size_t end = (cell + 1) * values.size() / count;
    const float most = *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                         values.begin() + static_cast<std::ptrdiff_t>(end));
    Append(ShadeCell(most, largest, canvas), strip);
  }
  return strip;
}

}  // namespace bfly::control
