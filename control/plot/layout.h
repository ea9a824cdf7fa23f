// SPDX-License-Identifier: Apache-2.0
// The places of the panels, titles and key of a figure.
#pragma once

#include <string>
#include <vector>

#include "control/plot/figure.h"

namespace bfly::control {

struct KeyItem {
  enum class Sign { kMean, kBounds, kExact, kSaturated } sign;
  std::string text;
};

// Coordinates are pixels of the SVG; the PNG has twice as many.
class Layout {
 public:
  static constexpr double kTop = 16, kTitleLine = 24, kLabelLine = 18;

  explicit Layout(const Figure& figure);

  double width() const { return width_; }
  double height() const { return height_; }
  double panel_height() const { return panel_height_; }
  int columns() const { return columns_; }
  int rows() const { return rows_; }
  bool IsBottomOfColumn(int panel) const {
    return panel + columns_ >= static_cast<int>(figure_.panels.size());
  }
  bool IsFirstOfRow(int panel) const { return panel % columns_ == 0; }

  const std::vector<std::string>& title() const { return title_; }
  // Converts coordinates to gnuplot's notation.
  std::string X(double x) const;
  std::string Y(double from_top) const;
  double PanelLeft(int panel) const;
  double PanelTop(int panel) const;
  double PanelRight(int panel) const { return PanelLeft(panel) + panel_width_; }
  double PanelBottom(int panel) const { return PanelTop(panel) + panel_height_; }
  double PlotsLeft() const;
  double PlotsMiddle() const;
  double PlotsBottom() const { return PanelTop(columns_ * (rows_ - 1)) + panel_height_; }

  struct PlacedKey {
    KeyItem item;
    double x = 0, from_top = 0;
  };
  std::vector<PlacedKey> Key() const;

 private:
  void WrapTitle();
  void PlaceKey();

  const Figure& figure_;
  std::vector<KeyItem> key_;
  std::vector<PlacedKey> placed_;
  std::vector<std::string> title_;  // lines
  double top_ = 0, title_room_ = 0;
  int columns_ = 1, rows_ = 1;
  double panel_width_ = 0, panel_height_ = 0, label_room_ = 0;
  double width_ = 0, height_ = 0, key_lines_ = 1;
};

}  // namespace bfly::control
