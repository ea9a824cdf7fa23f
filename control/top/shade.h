// SPDX-License-Identifier: Apache-2.0
// How large a value is beside the largest one, as a shade. Pure.
#pragma once

#include <vector>

#include "control/top/line.h"

namespace bfly::control {

// 0 to kShades - 1; -1 for no value, or if nothing is large.
int Shade(double value, double largest);
// The character of a shade where there are no background colours; a dot for -1.
const char* ShadeGlyph(int shade, bool utf8);

// One column that says how large `value` is beside `largest`: a background colour, or a character
// without colours; a dot for 0.
Span ShadeCell(double value, double largest, const Canvas& canvas);
// The shades from "some" to "the most", for a legend.
Line ShadeScale(const Canvas& canvas);
// Equal cells next to each other become one span.
void Append(Span span, Line& line);

// A strip of at most `cells` columns. A column is a value, or the largest of several neighbours if
// there are more values than cells.
Line HeatStrip(const std::vector<float>& values, uint32_t cells, double largest,
               const Canvas& canvas);

}  // namespace bfly::control
