// SPDX-License-Identifier: Apache-2.0
// Answers of a controller as a test writes them by hand.
#pragma once

#include <string>

#include "control/top/sample.h"

namespace bfly::control {

inline constexpr int64_t kTopSecond = 1'000'000'000;

// A loaded butterfly of `rows` rows, asked `seconds` after some moment.
inline Answers TopAnswers(uint32_t rows, uint32_t stages, int64_t seconds) {
  Answers answers;
  answers.fabric.set_loaded(true);
  answers.fabric.set_name("lab");
  answers.fabric.set_kind("butterfly");
  answers.fabric.set_rows(rows);
  answers.fabric.set_stages(stages);
  answers.fabric.set_ports(2);
  answers.fabric_ns = seconds * kTopSecond;
  answers.counters.set_monotonic_ns(seconds * kTopSecond);
  return answers;
}

inline v1::LinkCounters& AddTopLink(Answers& answers, uint32_t stage, uint32_t row, uint32_t port,
                                    uint64_t packets) {
  v1::LinkCounters& link = *answers.counters.add_links();
  link.set_stage(stage);
  link.set_row(row);
  link.set_port(port);
  link.set_next_row(row ^ port);
  link.set_packets(packets);
  link.set_bytes(100 * packets);
  return link;
}

inline v1::LinkGroup& AddTopRate(Answers& answers, const std::string& stages,
                                 const std::string& rows, const std::string& rate) {
  v1::LinkGroup& group = *answers.links.add_links();
  group.set_stages(stages);
  group.set_rows(rows);
  group.set_rate(rate);
  return group;
}

}  // namespace bfly::control
