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

// Text of exactly `width` columns: cut or filled with blanks.
std::string Fitted(const std::string& text, uint32_t width, bool left);

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  Line Heading() const;
  // A value for each column. Columns are one blank apart.
  Line Row(const std::vector<std::string>& values) const;

 private:
  std::vector<Column> columns_;
};

}  // namespace bfly::control
