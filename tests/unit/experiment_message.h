// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "control/measure/core/experiment.h"

namespace bfly::control {

// The configuration of an experiment of a known kind.
template <typename M>
const M& MessageOf(const Experiment& experiment) {
  return dynamic_cast<const M&>(experiment.message());
}

}  // namespace bfly::control
