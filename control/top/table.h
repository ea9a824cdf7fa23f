// SPDX-License-Identifier: Apache-2.0
// Tables with columns of fixed width. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/top/line.h"

namespace bfly::control {

struct Column {
  const char* title;
  uint32_t width;
  bool left = false;  // text stands left, numbers right
};

// Text of exactly `width` columns: filled with blanks, or cut with a mark in its last column, an
// ellipsis, or `>` without UTF-8.
std::string Fitted(const std::string& text, uint32_t width, bool left, bool utf8);

class Table {
 public:
  Table(std::vector<Column> columns, const Canvas& canvas)
      : columns_(std::move(columns)), utf8_(canvas.utf8) {}
  Line Heading() const;
  // A value for each column. Columns are one blank apart.
  Line Row(const std::vector<std::string>& values) const;

 private:
  std::vector<Column> columns_;
  bool utf8_;
};

}  // namespace bfly::control
