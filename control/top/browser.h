// SPDX-License-Identifier: Apache-2.0
// What `bfly top` shows and what its keys do. Samples and keys in, lines out: no terminal. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/top/line.h"
#include "control/top/sample.h"
#include "control/top/view.h"

namespace bfly::control {

// Keys that are not characters. A character is its own key.
enum Key : int {
  kKeyUp = 0x110000,
  kKeyDown,
  kKeyPageUp,
  kKeyPageDown,
  kKeyHome,
  kKeyEnd,
  kKeyBackTab,
  kKeyEscape = 27,
  kKeyTab = '\t',
  kKeyEnter = '\n',
};

class Browser {
 public:
  Browser(const View& first, ViewState state);

  // While paused a sample is kept until the pause ends.
  void Take(Sample sample);
  // `problem` says why there is no new sample. The last sample stays on the screen, marked as old,
  // until the next one comes.
  void Fail(std::string problem);
  // Returns false if the key asks to end.
  bool Press(int key);

  // At most canvas.lines lines, none wider than canvas.columns. `interval_ms` is shown.
  std::vector<Line> Draw(const Canvas& canvas, uint32_t interval_ms);
  // The view as a page of text for scripts: no keys, at most `most` rows.
  std::vector<Line> Print(const Canvas& canvas, size_t most) const;

  bool has_sample() const { return shown_.has_value(); }
  const std::optional<Sample>& shown() const { return shown_; }

 private:
  void Show(Sample sample);
  void ChangeTo(size_t view);
  void MoveTo(int64_t row);
  void ZoomIn();
  Line Title(const Canvas& canvas, uint32_t interval_ms) const;
  Line Tabs() const;
  Line Account() const;
  Line Foot() const;
  ViewPage PageOf(const Canvas& canvas) const;

  size_t view_;
  std::vector<ViewState> states_;  // by view; the stage is common to all of them
  std::optional<Sample> shown_, kept_;
  std::string problem_;
  bool paused_ = false, help_ = false;
  int64_t cursor_ = 0, first_ = 0;  // row under the cursor, and first row on the screen
  std::vector<std::optional<uint32_t>> stage_of_row_;  // of what was drawn last
  int64_t room_ = 1;                                   // rows on the screen
};

}  // namespace bfly::control
