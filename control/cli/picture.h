// SPDX-License-Identifier: Apache-2.0
// The congestion of a network as lines of text: stages are columns, rows are lines, a node has two
// links. Drawing is a pure function of the counters; watch.cc has the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bfly/v1/telemetry.pb.h"

namespace bfly::control {

struct LinkFigures {
  uint32_t circuits = 0;
  double rate = 0;  // packets a second since the picture before
};

// Which stages and rows are drawn, in ascending order; empty: all of them.
struct Part {
  std::vector<uint32_t> stages;
  std::vector<uint32_t> rows;
};

// The links of the drawn part, stage-major as in Network::link_index.
struct CongestionField {
  uint32_t rows = 0;    // drawn
  uint32_t stages = 0;  // drawn
  Part part;            // the numbers of the drawn stages and rows
  uint32_t ports = 2;
  std::vector<LinkFigures> links;

  // The number of the i-th row or stage that is drawn.
  uint32_t row_number(uint32_t i) const { return part.rows.empty() ? i : part.rows[i]; }
  uint32_t stage_number(uint32_t i) const { return part.stages.empty() ? i : part.stages[i]; }

  // The arguments are places in the drawing, not numbers of stages and rows.
  LinkFigures& at(uint32_t stage, uint32_t row, uint32_t port) {
    return links[(static_cast<size_t>(stage) * rows + row) * ports + port];
  }
  const LinkFigures& at(uint32_t stage, uint32_t row, uint32_t port) const {
    return links[(static_cast<size_t>(stage) * rows + row) * ports + port];
  }
};

struct Canvas {
  uint32_t columns = 80;
  uint32_t lines = 24;  // for the drawing, its heading and its legend
  bool colour = false;  // background colours; otherwise shade characters
};

// Returns the field of `now` on a network of `rows` and `stages`. Rates come from the packets
// counted since `before`; without it there are none. Stages and rows of `part` outside the network
// are left out.
CongestionField MakeField(uint32_t rows, uint32_t stages, const v1::Counters& now,
                          const v1::Counters* before, const Part& part = {}, uint32_t ports = 2);

// Returns a heading, one line for each group of 2^k drawn rows (k is as small as fits) and a
// legend. No line is wider than canvas.columns. Stages that do not fit are left out from the right,
// and the legend says so.
std::vector<std::string> DrawCongestion(const CongestionField& field, const Canvas& canvas);

// "s3 r4 p1 -> r5: 2 circuits, 12.3k packets/s, 1.2M packets", fullest first.
std::vector<std::string> TopLinks(const v1::Counters& now, const v1::Counters* before, uint32_t k);

// One column that says how large `value` is beside `largest`: a background colour, or a character
// without colours; a dot for 0.
std::string ShadeCell(double value, double largest, bool colour);
// The shades from "some" to "the most", for a legend.
std::string ShadeScale(bool colour);

// The columns that a line takes on the terminal: an escape sequence takes none, a UTF-8 character
// one.
uint32_t Width(const std::string& line);

}  // namespace bfly::control
