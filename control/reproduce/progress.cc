// SPDX-License-Identifier: Apache-2.0
#include "control/reproduce/progress.h"

#include <algorithm>
#include <numeric>

namespace bfly::control {
namespace {

// The trials of an experiment take different times. Before this part of them is done their pace
// says little.
constexpr double kSaysSomething = 0.05;

}  // namespace

void TimeLeft::End(double seconds) {
  // An experiment that was done before says nothing.
  if (begun_ >= 1) return;
  expected_of_ended_ += expected_[next_ - 1] * (1 - begun_);
  took_ += seconds;
}

double TimeLeft::Seconds(double done, double seconds) const {
  const double ahead =
      std::accumulate(expected_.begin() + static_cast<long>(next_), expected_.end(), 0.0);
  double here = 0;
  if (next_ > 0) {
    const double expected = expected_[next_ - 1] * (1 - begun_) * Scale();
    const double by_pace =
        done > begun_ + kSaysSomething ? seconds * (1 - done) / (done - begun_) : 0;
    here = done >= 1 ? 0 : std::max({0.0, expected - seconds, by_pace});
  }
  return here + ahead * Scale();
}

}  // namespace bfly::control
