// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "control/measure/steps/extra_stages.h"
#include "control/measure/steps/h_relations.h"
#include "control/measure/steps/step_program.h"
#include "control/measure/steps/store_and_forward.h"
#include "control/measure/steps/waves.h"

namespace bfly::control {

const std::vector<StepProgram>& StepPrograms() {
  static const std::vector<StepProgram> programs = {
      WavesProgram(),
      HRelationProgram(),
      ExtraStagesProgram(),
      StoreAndForwardProgram(),
  };
  return programs;
}

const StepProgram* FindStepProgram(const std::string& name) {
  const std::vector<StepProgram>& programs = StepPrograms();
  const auto at = std::find_if(programs.begin(), programs.end(),
                               [&](const StepProgram& program) { return program.name == name; });
  return at == programs.end() ? nullptr : &*at;
}

}  // namespace bfly::control
