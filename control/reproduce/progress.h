// SPDX-License-Identifier: Apache-2.0
// How long a run of several experiments will still take.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace bfly::control {

class TimeLeft {
 public:
  // `expected`: seconds that each experiment takes on a machine like the one the list was made on.
  explicit TimeLeft(std::vector<double> expected) : expected_(std::move(expected)) {}

  // The next experiment begins. An earlier run did this part of it, from 0 to 1.
  void Begin(double done_before) {
    begun_ = done_before;
    ++next_;
  }
  // The experiment that began last ended after `seconds`. What it took says how fast this machine
  // is.
  void End(double seconds);

  // Seconds until all experiments have ended, when `done` of the one that runs is done, from 0 to
  // 1, `seconds` after it began.
  double Seconds(double done, double seconds) const;

 private:
  double Scale() const { return expected_of_ended_ >= 1 ? took_ / expected_of_ended_ : 1; }

  std::vector<double> expected_;
  size_t next_ = 0;  // the first experiment that has not begun
  double begun_ = 0;
  double expected_of_ended_ = 0, took_ = 0;
};

}  // namespace bfly::control
