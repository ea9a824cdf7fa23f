// SPDX-License-Identifier: Apache-2.0
#include "control/top/curses_screen.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/top/browser.h"
// This include stands last, because ncurses defines macros of common words.
#define NCURSES_NOMACROS 1
#include <curses.h>

namespace bfly::control {
namespace {

// Background colours of the shades on a terminal of 256 colours, and on one of eight.
constexpr short kBackgrounds[kShades] = {23, 29, 100, 130, 124};
constexpr short kFewBackgrounds[kShades] = {COLOR_BLUE, COLOR_CYAN, COLOR_GREEN, COLOR_YELLOW,
                                            COLOR_RED};
// Pairs of colours: one for each shade, then one for what is wrong.
constexpr short kFirstPair = 1, kBadPair = kFirstPair + kShades;

attr_t AttributeOf(Ink ink, bool colour) {
  switch (ink) {
    case Ink::kPlain:
      return A_NORMAL;
    case Ink::kBold:
      return A_BOLD;
    case Ink::kDim:
      return A_DIM;
    case Ink::kBad:
      return A_BOLD | (colour ? COLOR_PAIR(kBadPair) : A_NORMAL);
    case Ink::kReverse:
      return A_REVERSE;
    default:
      return COLOR_PAIR(kFirstPair + static_cast<int>(ink) - static_cast<int>(Ink::kShade0));
  }
}

int KeyOf(int read) {
  switch (read) {
    case KEY_UP:
      return kKeyUp;
    case KEY_DOWN:
      return kKeyDown;
    case KEY_PPAGE:
      return kKeyPageUp;
    case KEY_NPAGE:
      return kKeyPageDown;
    case KEY_HOME:
      return kKeyHome;
    case KEY_END:
      return kKeyEnd;
    case KEY_BTAB:
      return kKeyBackTab;
    case KEY_ENTER:
      return kKeyEnter;
    default:
      return read < 256 ? read : 0;
  }
}

}  // namespace

absl::StatusOr<CursesScreen> CursesScreen::Open() {
  setlocale(LC_CTYPE, "");
  const char* const term = getenv("TERM");
  // newterm fails where initscr would end the process.
  SCREEN* const screen = newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("TERM is ", term == nullptr || *term == '\0' ? "not set" : term,
                     ", which is not a terminal that ncurses knows: set TERM to the name of your "
                     "terminal, such as xterm-256color, or use --once"));
  }
  return CursesScreen(screen);
}

CursesScreen::CursesScreen(void* screen) : screen_(screen) {
  cbreak();
  noecho();
  curs_set(0);
  nodelay(stdscr, TRUE);
  keypad(stdscr, TRUE);
  // A lone Escape is a key after 25 ms; sequences of keys come in one piece.
  set_escdelay(25);
  utf8_ = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  const char* const no_colour = getenv("NO_COLOR");
  colour_ = has_colors() && (no_colour == nullptr || *no_colour == '\0');
  if (!colour_) return;
  start_color();
  use_default_colors();
  for (short shade = 0; shade < kShades; ++shade) {
    if (COLORS >= 256) {
      init_pair(static_cast<short>(kFirstPair + shade), 15, kBackgrounds[shade]);
    } else {
      init_pair(static_cast<short>(kFirstPair + shade), COLOR_WHITE, kFewBackgrounds[shade]);
    }
  }
  init_pair(kBadPair, COLOR_RED, -1);
}

CursesScreen::CursesScreen(CursesScreen&& other) noexcept
    : screen_(std::exchange(other.screen_, nullptr)), colour_(other.colour_), utf8_(other.utf8_) {}

CursesScreen::~CursesScreen() {
  if (screen_ == nullptr) return;
  endwin();
  delscreen(static_cast<SCREEN*>(screen_));
}

Canvas CursesScreen::canvas() const {
  return {.columns = static_cast<uint32_t>(getmaxx(stdscr)),
          .lines = static_cast<uint32_t>(getmaxy(stdscr)),
          .colour = colour_,
          .utf8 = utf8_};
}

void CursesScreen::Resize() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return;
  resizeterm(size.ws_row, size.ws_col);
}

void CursesScreen::Draw(const std::vector<Line>& lines) {
  erase();
  for (int y = 0; y < getmaxy(stdscr) && y < static_cast<int>(lines.size()); ++y) {
    move(y, 0);
    for (const Span& span : lines[static_cast<size_t>(y)]) {
      attrset(static_cast<int>(AttributeOf(span.ink, colour_)));
      addstr(span.text.c_str());
    }
  }
  attrset(A_NORMAL);
  refresh();
}

int CursesScreen::Read() {
  const int read = getch();
  return read == ERR ? kNoKey : KeyOf(read);
}

}  // namespace bfly::control
