// SPDX-License-Identifier: Apache-2.0
// The congestion of a network as a drawing: stages are columns, rows are lines, a digit is the
// number of circuits on a link. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "control/top/line.h"
#include "control/top/sample.h"

namespace bfly::control {

struct LinkFigures {
  uint32_t circuits = 0;
  double rate = 0;  // packets a second since the sample before
};

// The links of the drawn part, stage-major as in Network::link_index.
struct CongestionField {
  uint32_t rows = 0;    // drawn
  uint32_t stages = 0;  // drawn
  Part part;            // the numbers of the drawn stages, rows and ports
  uint32_t ports = 2;   // drawn
  std::vector<LinkFigures> links;

  // The number of the i-th row, stage or port that is drawn.
  uint32_t row_number(uint32_t i) const { return part.rows.empty() ? i : part.rows[i]; }
  uint32_t stage_number(uint32_t i) const { return part.stages.empty() ? i : part.stages[i]; }
  uint32_t port_number(uint32_t i) const { return part.ports.empty() ? i : part.ports[i]; }

  // The arguments are places in the drawing, not numbers of stages, rows and ports.
  LinkFigures& at(uint32_t stage, uint32_t row, uint32_t port) {
    return links[(static_cast<size_t>(stage) * rows + row) * ports + port];
  }
  const LinkFigures& at(uint32_t stage, uint32_t row, uint32_t port) const {
    return links[(static_cast<size_t>(stage) * rows + row) * ports + port];
  }
};

// Stages, rows and ports of `sample.part` outside the network are left out.
CongestionField MakeField(const Sample& sample);

// Returns a heading, one line for each group of 2^k drawn rows (k is as small as fits) and a
// legend. No line is wider than canvas.columns. Stages that do not fit are left out from the right,
// and the legend says so.
std::vector<Line> DrawCongestion(const CongestionField& field, const Canvas& canvas);

}  // namespace bfly::control
