// SPDX-License-Identifier: Apache-2.0
// A figure as plain values: small panels that share their axes, each with a few curves.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace bfly::control {

// A measured mean with its error bar from `low` to `high`; both equal `y` if there is no bar.
struct FigurePoint {
  double x = 0;
  double y = 0;
  double low = 0;
  double high = 0;
  // The value with which the point is compared, drawn as a ring; NaN: there is no such value.
  double exact = std::numeric_limits<double>::quiet_NaN();
};

// The bounds of theory at x; NaN means no bound.
struct FigureBounds {
  double x = 0;
  double lower = 0;
  double upper = 0;
};

struct FigureCurve {
  std::string label;  // empty: the panel's title is enough
  int colour = 0;     // an index of the palette; a curve has the same colour in every panel
  std::vector<FigurePoint> points;   // joined by a line, x ascending
  std::vector<double> saturated;     // x of points that have no stationary mean: marked, not joined
  std::vector<FigureBounds> bounds;  // x ascending
};

struct FigurePanel {
  std::string title;
  std::vector<FigureCurve> curves;
};

struct Figure {
  std::string name;  // the name of its files
  std::string title;
  std::string x_label;
  std::string y_label;
  std::string bars;                             // the meaning of an error bar: "95 % interval"
  std::string rings = "exact value of theory";  // the meaning of a ring
  bool whole_x = false;                         // x is a whole number
  bool log_y = false;
  bool apart = false;  // curves stand a little apart sideways, so that they don't hide each other
  int columns = 1;
  std::vector<FigurePanel> panels;  // row by row; the panels of a row share their y axis
};

// The gnuplot script that draws the figure. Run in any folder, it writes name.svg, name.png,
// name-dark.svg and name-dark.png there.
std::string GnuplotScript(const Figure& figure);

// Moves the means of each panel's curves sideways, by `width` of the x axis in total, and says so
// in the figure. Bounds are not moved.
void OffsetCurves(Figure& figure, double width);

}  // namespace bfly::control
