// SPDX-License-Identifier: Apache-2.0
#include "control/plot/layout.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace bfly::control {
namespace {

constexpr double kLeft = 92, kRight = 18, kRowGap = 10, kTicRoom = 62, kKeyLine = 26, kBottom = 12;
constexpr double kLetter = 7.9, kTitleLetter = 8.8;

std::vector<KeyItem> KeyOf(const Figure& figure) {
  bool bars = false, bounds = false, exact = false, saturated = false;
  for (const FigurePanel& panel : figure.panels) {
    for (const FigureCurve& curve : panel.curves) {
      for (const FigurePoint& point : curve.points) {
        bars |= point.low < point.high;
        exact |= !std::isnan(point.exact);
      }
      bounds |= !curve.bounds.empty();
      saturated |= !curve.saturated.empty();
    }
  }
  using Sign = KeyItem::Sign;
  std::vector<KeyItem> key = {
      {Sign::kMean, absl::StrCat(bars ? "mean, " + figure.bars : "mean",
                                 figure.apart ? " (curves set apart sideways)" : "")}};
  if (bounds) key.push_back({Sign::kBounds, "bounds of theory"});
  if (exact) key.push_back({Sign::kExact, figure.rings});
  if (saturated) key.push_back({Sign::kSaturated, "saturated: no stationary mean"});
  return key;
}

}  // namespace

Layout::Layout(const Figure& figure) : figure_(figure), key_(KeyOf(figure)) {
  const int panels = static_cast<int>(figure.panels.size());
  columns_ = std::clamp(figure.columns, 1, std::max(panels, 1));
  rows_ = (panels + columns_ - 1) / columns_;
  const bool alone = panels == 1;
  title_room_ = alone && figure.panels[0].title.empty() ? 10 : 30;
  panel_width_ = alone ? 560 : columns_ <= 2 ? 330 : columns_ == 3 ? 250 : 200;
  panel_height_ = alone ? 360 : columns_ <= 2 ? 230 : columns_ == 3 ? 180 : 160;
  size_t letters = 0;
  for (const FigurePanel& panel : figure.panels) {
    for (const FigureCurve& curve : panel.curves) letters = std::max(letters, curve.label.size());
  }
  label_room_ = letters == 0 ? 18 : 24 + kLetter * static_cast<double>(letters);
  width_ = kLeft + columns_ * (panel_width_ + label_room_) + (letters == 0 ? 0 : -4) + 4;
  PlaceKey();
  WrapTitle();
  height_ = top_ + rows_ * (title_room_ + panel_height_) + (rows_ - 1) * kRowGap + kTicRoom +
            key_lines_ * kKeyLine + kBottom;
}

std::string Layout::X(double x) const { return absl::StrFormat("screen %.5f", x / width_); }

std::string Layout::Y(double from_top) const {
  return absl::StrFormat("screen %.5f", 1 - from_top / height_);
}

double Layout::PanelLeft(int panel) const {
  return kLeft + (panel % columns_) * (panel_width_ + label_room_);
}

double Layout::PanelTop(int panel) const {
  return top_ + title_room_ + (panel / columns_) * (title_room_ + panel_height_ + kRowGap);
}

double Layout::PlotsLeft() const { return kLeft; }

double Layout::PlotsMiddle() const { return kLeft + columns_ * (panel_width_ + label_room_) / 2; }

std::vector<Layout::PlacedKey> Layout::Key() const {
  std::vector<PlacedKey> placed = placed_;
  for (PlacedKey& key : placed) key.from_top += PlotsBottom() + kTicRoom + kKeyLine / 2;
  return placed;
}

// Breaks the title between words, to fit the width of the figure.
void Layout::WrapTitle() {
  const auto most = static_cast<size_t>((width_ - kLeft - kRight) / kTitleLetter);
  for (const absl::string_view word : absl::StrSplit(figure_.title, ' ')) {
    if (title_.empty() || title_.back().size() + 1 + word.size() > most) title_.emplace_back();
    absl::StrAppend(&title_.back(), title_.back().empty() ? "" : " ", word);
  }
  top_ = kTop + kTitleLine * static_cast<double>(title_.size());
}

void Layout::PlaceKey() {
  double x = kLeft, line = 0;
  for (const KeyItem& item : key_) {
    const double needs = 36 + kLetter * static_cast<double>(item.text.size());
    if (x > kLeft && x + needs > width_ - kRight) {
      x = kLeft;
      ++line;
    }
    placed_.push_back({item, x, line * kKeyLine});
    width_ = std::max(width_, x + needs);
    x += needs + 14;
  }
  key_lines_ = line + 1;
}

}  // namespace bfly::control
