// SPDX-License-Identifier: Apache-2.0
// The kinds of experiments that bfly knows.
#pragma once

#include <memory>
#include <vector>

#include "control/measure/core/experiment.h"

namespace bfly::control {

struct Kind {
  const char* subject;  // the things that the kind measures, in the plural
  // A file with this key at the left margin is of this kind. Null: files that have no other kind's
  // key.
  const char* key;
  const char* minimum;  // the least that a file must have
  std::unique_ptr<Experiment> (*make)();
};

const std::vector<Kind>& Kinds();

}  // namespace bfly::control
