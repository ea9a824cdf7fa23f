// SPDX-License-Identifier: Apache-2.0
#include "control/top/table.h"

namespace bfly::control {

std::string Fitted(const std::string& text, uint32_t width, bool left, bool utf8) {
  const uint32_t taken = Width(text);
  if (taken > width) {
    return PlainText(Cut(PlainLine(text), width - 1)) + (utf8 ? "\u2026" : ">");
  }
  const std::string blanks(width - taken, ' ');
  return left ? text + blanks : blanks + text;
}

Line Table::Heading() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.emplace_back(column.title);
  Line line = Row(titles);
  line.front().ink = Ink::kBold;
  return line;
}

Line Table::Row(const std::vector<std::string>& values) const {
  std::string text;
  for (size_t i = 0; i < columns_.size() && i < values.size(); ++i) {
    if (i > 0) text += ' ';
    text += Fitted(values[i], columns_[i].width, columns_[i].left, utf8_);
  }
  return PlainLine(std::move(text));
}

}  // namespace bfly::control
