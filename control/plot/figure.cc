// SPDX-License-Identifier: Apache-2.0
#include "control/plot/figure.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "control/plot/axis.h"
#include "control/plot/layout.h"
#include "control/plot/palette.h"

namespace bfly::control {
namespace {

// Encloses text in gnuplot's single quotes.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}, {"\n", " "}, {"\r", " "}}), "'");
}

// Writes 100000 and more as powers of ten, in gnuplot's enhanced text. The text has as many digits
// as it takes to tell tics apart that differ by `step`.
std::string TicText(double tic, double step) {
  const double size = std::fabs(tic);
  // One digit more than the step's first one, because a step may be 2.5 times a power of ten.
  const int needed = size > step ? static_cast<int>(std::ceil(std::log10(size / step))) + 2 : 0;
  const auto digits = [needed](int least) { return std::clamp(needed, least, 12); };
  if (size < 1e5) return absl::StrFormat("%.*g", digits(6), tic);
  const double power = std::floor(std::log10(size) + 1e-9);
  const double factor = tic / std::pow(10, power);
  return absl::StrCat(factor == 1 ? "" : absl::StrFormat("%.*g·", digits(3), factor), "10^{", power,
                      "}");
}

std::string TicsOf(const Axis& axis, bool with_text) {
  double step = axis.high - axis.low;
  for (size_t i = 1; i < axis.tics.size(); ++i)
    step = std::min(step, axis.tics[i] - axis.tics[i - 1]);
  std::string tics;
  for (const double tic : axis.tics) {
    absl::StrAppend(&tics, tics.empty() ? "" : ", ", "'", with_text ? TicText(tic, step) : "", "' ",
                    absl::StrFormat("%.9g", tic));
  }
  return absl::StrCat("(", tics, ")");
}

// Sets a variable of the script to one of two colours, or lists of colours.
std::string Colour(const char* name, const std::string& dark, const std::string& light) {
  return absl::StrCat(name, " = dark ? '", dark, "' : '", light, "'\n");
}

std::string Paint(int colour) { return absl::StrCat("paint(", colour % 8, ")"); }

class Script {
 public:
  explicit Script(const Figure& figure) : figure_(figure), layout_(figure) {}

  std::string Text() {
    std::vector<double> x;
    for (const FigurePanel& panel : figure_.panels) {
      for (const FigureCurve& curve : panel.curves) {
        for (const FigurePoint& point : curve.points) x.push_back(point.x);
        x.insert(x.end(), curve.saturated.begin(), curve.saturated.end());
      }
    }
    x_ = AxisOf(x, figure_.whole_x ? Scale::kWhole : Scale::kLinear, 0.06, 0.06,
                figure_.whole_x ? 6 : 5);
    std::string panels;
    for (int row = 0; row < layout_.rows(); ++row) {
      y_ = RowAxis(row);
      const int end =
          std::min((row + 1) * layout_.columns(), static_cast<int>(figure_.panels.size()));
      for (int i = row * layout_.columns(); i < end; ++i) absl::StrAppend(&panels, Panel(i));
    }
    const int w = static_cast<int>(std::lround(layout_.width()));
    const int h = static_cast<int>(std::lround(layout_.height()));
    return absl::StrCat(
        "# Drawn by bfly measure; run gnuplot on this file in its folder to draw it again.\nset "
        "encoding utf8\n",
        blocks_, "do for [look in 'light dark'] { do for [kind in 'svg png'] {\ndark = look eq ",
        "'dark'\n", Colour("paper", kDarkPalette.paper, kLightPalette.paper),
        Colour("ink", kDarkPalette.ink, kLightPalette.ink),
        Colour("faint", kDarkPalette.faint, kLightPalette.faint),
        Colour("frame", kDarkPalette.frame, kLightPalette.frame),
        Colour("palette", absl::StrJoin(kDarkPalette.curves, " "),
               absl::StrJoin(kLightPalette.curves, " ")),
        "paint(n) = word(palette, n + 1)\nif (kind eq ",
        "'svg') {\nbig = ',17'\nmark = 0.8\neval \"set terminal svg size ", w, ",", h,
        " font 'Arial,15' background '\".paper.\"'\"\n} else {\nbig = ',13'\nmark = 1.1\neval "
        "\"set terminal "
        "pngcairo size ",
        2 * w, ",", 2 * h,
        " font 'Arial,11' fontscale 2 linewidth 2 pointscale 2 background '\".paper.\"'\"\n}\n",
        "set output ", Quoted(figure_.name), ".(dark ? '-dark.' : '.').kind\nset multiplot\n",
        "set border lc rgb frame lw 0.8\nset grid x y lt 1 lw 0.8 lc rgb faint\nset style fill ",
        "transparent solid 0.16 noborder\nunset key\nunset logscale\n",
        figure_.log_y ? "set logscale y\n" : "", Around(), panels,
        "unset multiplot\nunset label\nunset object\nunset arrow\n} }\nset output\n");
  }

 private:
  // The y axis of all panels in a row: it holds the means, their bars, and theory's values beside
  // means.
  Axis RowAxis(int row) const {
    std::vector<double> y;
    bool saturated = false;
    const size_t first = static_cast<size_t>(row) * layout_.columns();
    const size_t end = std::min(first + layout_.columns(), figure_.panels.size());
    for (size_t i = first; i < end; ++i) {
      for (const FigureCurve& curve : figure_.panels[i].curves) {
        for (const FigurePoint& p : curve.points) {
          y.insert(y.end(), {p.y, p.low, p.high, p.exact});
        }
        saturated |= !curve.saturated.empty();
        for (const FigureBounds& b : curve.bounds) {
          if (curve.points.empty() || b.x > curve.points.back().x) break;
          if (b.x >= curve.points.front().x) y.insert(y.end(), {b.lower, b.upper});
        }
      }
    }
    return AxisOf(y, figure_.log_y ? Scale::kLog : Scale::kLinear, 0.06, saturated ? 0.22 : 0.08,
                  figure_.log_y ? 7 : 5);
  }

  std::string Block(const std::string& lines) {
    const std::string name = absl::StrCat("$d", number_++);
    absl::StrAppend(&blocks_, name, " << EOD\n", lines, "EOD\n");
    return name;
  }

  // The title, the names of the axes and the key. They are labels of the first panel.
  std::string Around() const {
    std::string out;
    double from_top = Layout::kTop + Layout::kTitleLine / 2;
    for (const std::string& line : layout_.title()) {
      absl::StrAppendFormat(&out, "set label %s at %s, %s left noenhanced font big tc rgb ink\n",
                            Quoted(line), layout_.X(layout_.PlotsLeft()), layout_.Y(from_top));
      from_top += Layout::kTitleLine;
    }
    absl::StrAppendFormat(&out, "set label %s at %s, %s center noenhanced tc rgb ink\n",
                          Quoted(figure_.x_label), layout_.X(layout_.PlotsMiddle()),
                          layout_.Y(layout_.PlotsBottom() + 44));
    absl::StrAppendFormat(&out, "set label %s at %s, %s center rotate noenhanced tc rgb ink\n",
                          Quoted(figure_.y_label), layout_.X(18),
                          layout_.Y((layout_.PanelTop(0) + layout_.PlotsBottom()) / 2));
    for (const Layout::PlacedKey& key : layout_.Key()) {
      const std::string y = layout_.Y(key.from_top);
      const std::string left = layout_.X(key.x), middle = layout_.X(key.x + 12),
                        right = layout_.X(key.x + 24);
      switch (key.item.sign) {
        case KeyItem::Sign::kMean:
          absl::StrAppendFormat(&out,
                                "set arrow from %s, %s to %s, %s nohead lw 1.8 lc rgb ink\n"
                                "set label '' at %s, %s point pt 7 ps 0.7*mark lc rgb ink\n",
                                left, y, right, y, middle, y);
          break;
        case KeyItem::Sign::kBounds:
          absl::StrAppendFormat(&out,
                                "set object rectangle from %s, %s to %s, %s fc rgb ink fs "
                                "transparent solid 0.2 noborder\n",
                                left, layout_.Y(key.from_top + 7), right,
                                layout_.Y(key.from_top - 7));
          break;
        case KeyItem::Sign::kExact:
          absl::StrAppendFormat(&out, "set label '' at %s, %s point pt 6 ps 1.2*mark lc rgb ink\n",
                                middle, y);
          break;
        case KeyItem::Sign::kSaturated:
          absl::StrAppendFormat(&out, "set label '' at %s, %s point pt 8 ps 1.2*mark lc rgb ink\n",
                                middle, y);
          break;
      }
      absl::StrAppendFormat(&out, "set label %s at %s, %s left noenhanced tc rgb ink\n",
                            Quoted(key.item.text), layout_.X(key.x + 32), y);
    }
    return out;
  }

  // Draws bounds as a band with thin lines at its edges.
  void AddBounds(const FigureCurve& curve, std::vector<std::string>& plots) {
    std::string band, lower, upper;
    const auto add = [](std::string& line, double x, double y) {
      if (!std::isnan(y)) absl::StrAppendFormat(&line, "%.9g %.9g\n", x, y);
    };
    for (const FigureBounds& b : curve.bounds) {
      if (!std::isnan(b.lower) && !std::isnan(b.upper)) {
        absl::StrAppendFormat(&band, "%.9g %.9g %.9g\n", b.x, b.lower, b.upper);
      }
      add(lower, b.x, b.lower);
      add(upper, b.x, b.upper);
    }
    const std::string colour = Paint(curve.colour);
    if (!band.empty()) {
      plots.push_back(
          absl::StrCat(Block(band), " using 1:2:3 with filledcurves fc rgb ", Paint(curve.colour)));
    }
    for (const std::string& edge : {lower, upper}) {
      if (edge.empty()) continue;
      plots.push_back(absl::StrCat(Block(edge), " with lines lw 0.6 lc rgb ", colour));
    }
  }

  void AddMeasured(const FigureCurve& curve, int which, std::vector<std::string>& plots) {
    const std::string colour = Paint(curve.colour);
    std::string means, exact, saturated;
    for (const FigurePoint& p : curve.points) {
      // gnuplot draws no bar that begins where a logarithmic axis has no place.
      const double low = y_.log && p.low <= 0 ? y_.low : p.low;
      absl::StrAppendFormat(&means, "%.9g %.9g %.9g %.9g\n", p.x, p.y, low, p.high);
      if (!std::isnan(p.exact)) absl::StrAppendFormat(&exact, "%.9g %.9g\n", p.x, p.exact);
    }
    // The marks stand at the top of the panel, one row of marks for each curve.
    for (const double x : curve.saturated) {
      absl::StrAppendFormat(&saturated, "%.9g %.9g\n", x, y_.At(0.93 - 0.1 * which));
    }
    if (!means.empty()) {
      const std::string block = Block(means);
      plots.push_back(absl::StrCat(block, " using 1:2 with lines lw 1.8 lc rgb ", colour));
      plots.push_back(
          absl::StrCat(block, " using 1:3:(0):($4-$3) with vectors nohead lw 1.5 lc rgb ", colour));
      plots.push_back(
          absl::StrCat(block, " using 1:2 with points pt 7 ps 0.6*mark lc rgb ", colour));
    }
    if (!exact.empty()) {
      plots.push_back(absl::StrCat(Block(exact), " with points pt 6 ps 1.2*mark lw 1 lc rgb ink"));
    }
    if (!saturated.empty()) {
      plots.push_back(
          absl::StrCat(Block(saturated), " with points pt 8 ps 1.2*mark lw 1.3 lc rgb ", colour));
    }
  }

  // The labels of the curves stand right of the panel, each at the height of its curve's end.
  std::string Labels(const FigurePanel& panel) const {
    std::vector<double> wanted;
    for (size_t i = 0; i < panel.curves.size(); ++i) {
      const FigureCurve& curve = panel.curves[i];
      wanted.push_back(curve.points.empty() ? 0.93 - 0.1 * static_cast<double>(i)
                                            : y_.Place(curve.points.back().y));
    }
    const std::vector<double> places =
        SpreadLabels(wanted, Layout::kLabelLine / layout_.panel_height());
    std::string out;
    for (size_t i = 0; i < panel.curves.size(); ++i) {
      const FigureCurve& curve = panel.curves[i];
      if (curve.label.empty()) continue;
      absl::StrAppendFormat(&out,
                            "set label %s at graph 1.0, graph %.5f left offset 1.6,0 "
                            "noenhanced tc rgb %s\n",
                            Quoted(curve.label), places[i], Paint(curve.colour));
      const double end = curve.points.empty() ? curve.saturated.empty() ? 1 : curve.saturated.back()
                                              : curve.points.back().x;
      absl::StrAppendFormat(
          &out,
          "set arrow from graph %.5f, graph %.5f to graph %.5f, graph %.5f nohead lw 0.9 dt (2,3) "
          "lc rgb %s\n",
          x_.Place(end), wanted[i], 1 + 9.0 / (layout_.PanelRight(0) - layout_.PanelLeft(0)),
          places[i], Paint(curve.colour));
    }
    return out;
  }

  std::string Panel(int i) {
    const FigurePanel& panel = figure_.panels[i];
    std::vector<std::string> plots;
    for (const FigureCurve& curve : panel.curves) AddBounds(curve, plots);
    for (size_t c = 0; c < panel.curves.size(); ++c) {
      AddMeasured(panel.curves[c], static_cast<int>(c), plots);
    }
    std::string out = absl::StrCat(
        "set lmargin at ", layout_.X(layout_.PanelLeft(i)), "\nset rmargin at ",
        layout_.X(layout_.PanelRight(i)), "\nset tmargin at ", layout_.Y(layout_.PanelTop(i)),
        "\nset bmargin at ", layout_.Y(layout_.PanelBottom(i)), "\nset xrange [",
        absl::StrFormat("%.9g:%.9g]\nset yrange [%.9g:%.9g]\n", x_.low, x_.high, y_.low, y_.high),
        "set xtics scale 0.5 nomirror ", TicsOf(x_, layout_.IsBottomOfColumn(i)),
        " textcolor rgb ink\nset ytics scale 0.5 nomirror ", TicsOf(y_, layout_.IsFirstOfRow(i)),
        " textcolor rgb ink\n");
    if (!panel.title.empty()) {
      absl::StrAppendFormat(&out, "set label %s at %s, %s left noenhanced tc rgb ink\n",
                            Quoted(panel.title), layout_.X(layout_.PanelLeft(i)),
                            layout_.Y(layout_.PanelTop(i) - 13));
    }
    absl::StrAppend(&out, Labels(panel), "plot ", absl::StrJoin(plots, ", \\\n  "),
                    "\nunset label\nunset arrow\nunset object\n");
    return out;
  }

  const Figure& figure_;
  const Layout layout_;
  Axis x_, y_;
  int number_ = 0;
  std::string blocks_;
};

}  // namespace

void OffsetCurves(Figure& figure, double width) {
  for (FigurePanel& panel : figure.panels) {
    const auto n = static_cast<double>(panel.curves.size());
    for (size_t i = 0; i < panel.curves.size(); ++i) {
      const double aside = (static_cast<double>(i) - (n - 1) / 2) / n * width;
      for (FigurePoint& point : panel.curves[i].points) point.x += aside;
      figure.apart |= aside != 0;
    }
  }
}

std::string GnuplotScript(const Figure& figure) { return Script(figure).Text(); }

}  // namespace bfly::control
