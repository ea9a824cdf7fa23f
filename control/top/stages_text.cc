// SPDX-License-Identifier: Apache-2.0
#include "control/top/stages_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/top/line.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {

std::string StagesText(const v1::WorkerStatus& worker) {
  std::string text;
  for (const v1::PlacedStages& placed : worker.placed()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "stages ", placed.stages());
    if (!placed.rows().empty()) absl::StrAppend(&text, " of rows ", placed.rows());
  }
  if (worker.placed().empty() && !worker.stages().empty()) {  // a data plane of an older version
    std::vector<uint32_t> stages(worker.stages().begin(), worker.stages().end());
    std::sort(stages.begin(), stages.end());
    text = absl::StrCat("stages ", FormatRanges(stages));
    if (!worker.rows().empty()) absl::StrAppend(&text, " of rows ", worker.rows());
  }
  return Printable(std::move(text));
}

}  // namespace bfly::control
