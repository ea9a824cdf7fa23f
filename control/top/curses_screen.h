// SPDX-License-Identifier: Apache-2.0
// The terminal of `bfly top`, by ncurses: shows lines and reads keys. A process has at most one
// at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/top/line.h"

namespace bfly::control {

// A key that Read returns if no key is waiting.
inline constexpr int kNoKey = -1;

class CursesScreen {
 public:
  // Takes the terminal of standard input and output. Fails, with a message that says why, if the
  // terminal is unknown. Colours are left out with NO_COLOR.
  static absl::StatusOr<CursesScreen> Open();
  ~CursesScreen();  // gives the terminal back as it was
  CursesScreen(CursesScreen&& other) noexcept;
  CursesScreen& operator=(CursesScreen&&) = delete;

  Canvas canvas() const;
  // Call it after the terminal's size has changed.
  void Resize();
  void Draw(const std::vector<Line>& lines);
  // A key as in browser.h, or kNoKey. Never waits.
  int Read();

 private:
  explicit CursesScreen(void* screen);

  void* screen_;  // ncurses' SCREEN; null: moved from
  bool colour_ = false, utf8_ = false;
};

}  // namespace bfly::control
