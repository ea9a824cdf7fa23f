// SPDX-License-Identifier: Apache-2.0
#include "dataplane/links/shape_table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace bfly::dataplane {

ServedLink ToServed(const LinkShape& shape, double tsc_hz) {
  // A byte takes less than 2^36 ticks, a packet less than 2^52.
  const double ticks_per_byte =
      shape.bits_per_second == 0 ? 0 : 8 * tsc_hz / static_cast<double>(shape.bits_per_second);
  return {.byte_time = static_cast<LinkTime>(std::ldexp(ticks_per_byte, 64)),
          .delay = static_cast<uint64_t>(
              std::llround(static_cast<double>(shape.delay_ns) * tsc_hz / 1e9)),
          // Rounded up, so that every loss above 0 loses packets.
          .loss = static_cast<uint64_t>(std::ceil(std::ldexp(shape.loss, 63))),
          .queue_limit = shape.queue_limit,
          .discipline = shape.discipline};
}

ShapeTable::ShapeTable(const LinkPlan& plan, int stage, uint32_t rows, int ports, double tsc_hz)
    : shapes_{plan.base} {
  for (const LinkRule& rule : plan.rules) {
    if (stage >= rule.first_stage && stage <= rule.last_stage) Apply(rule, rows, ports);
  }
  // Rules may have made all links alike again.
  if (std::adjacent_find(shape_of_link_.begin(), shape_of_link_.end(), std::not_equal_to<>()) ==
          shape_of_link_.end() &&
      !shape_of_link_.empty()) {
    shapes_ = {shapes_[shape_of_link_[0]]};
    shape_of_link_.clear();
  }
  for (const LinkShape& shape : shapes_) served_.push_back(ToServed(shape, tsc_hz));
  loses_packets_ = std::any_of(served_.begin(), served_.end(),
                               [](const ServedLink& served) { return served.loss != 0; });
  if (shape_of_link_.empty()) {
    keeps_packets_ = shapes_[0].keeps_packets();
  } else {
    keeps_packets_ = std::any_of(shape_of_link_.begin(), shape_of_link_.end(),
                                 [this](uint32_t shape) { return shapes_[shape].keeps_packets(); });
  }
}

uint32_t ShapeTable::NumberOf(const LinkShape& shape) {
  const auto number =
      static_cast<uint32_t>(std::find(shapes_.begin(), shapes_.end(), shape) - shapes_.begin());
  if (number == shapes_.size()) shapes_.push_back(shape);
  return number;
}

void ShapeTable::Apply(const LinkRule& rule, uint32_t rows, int ports) {
  const Row last_row = std::min(rule.last_row, rows - 1);
  if (rule.first_row == 0 && last_row == rows - 1 && !rule.port && shape_of_link_.empty()) {
    shapes_[0] = rule.Applied(shapes_[0]);
    return;
  }
  if (shape_of_link_.empty()) shape_of_link_.resize(size_t{rows} * static_cast<size_t>(ports));
  std::map<uint32_t, uint32_t> becomes;
  for (uint64_t row = rule.first_row; row <= last_row; ++row) {
    for (int port = 0; port < ports; ++port) {
      if (rule.port && *rule.port != port) continue;
      uint32_t& shape =
          shape_of_link_[row * static_cast<uint64_t>(ports) + static_cast<uint64_t>(port)];
      auto known = becomes.find(shape);
      if (known == becomes.end()) {
        known = becomes.emplace(shape, NumberOf(rule.Applied(shapes_[shape]))).first;
      }
      shape = known->second;
    }
  }
}

}  // namespace bfly::dataplane
