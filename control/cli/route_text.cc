// SPDX-License-Identifier: Apache-2.0
#include "control/cli/route_text.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace bfly::control {
namespace {

// Returns `places` characters, shared out in proportion to `links`. A number above zero gets at
// least one character if there is room.
std::string Bar(const google::protobuf::RepeatedField<uint32_t>& links, uint32_t places) {
  uint64_t total = 0;
  uint32_t kinds = 0;
  for (const uint32_t n : links) {
    total += n;
    kinds += n != 0;
  }
  std::string bar;
  uint64_t before = 0;
  for (int k = 0; k < links.size(); ++k) {
    if (links[k] == 0) continue;
    --kinds;
    before += links[k];
    const size_t room = places - std::min(kinds, places);
    const size_t end =
        std::clamp<size_t>(before * places / total, bar.size() + 1, std::max(room, bar.size() + 1));
    bar.append(end - bar.size(), k < 10 ? static_cast<char>('0' + k) : '+');
  }
  return bar.substr(0, places);
}

}  // namespace

std::vector<std::string> DrawStageLoad(
    const google::protobuf::RepeatedPtrField<v1::StageLoad>& stages, uint32_t columns) {
  constexpr uint32_t kLabel = 12;  // "stage   most"
  std::vector<std::string> lines{"stage   most  links by their circuits"};
  for (const v1::StageLoad& stage : stages) {
    lines.push_back(absl::StrFormat("%5u %6d  %s", stage.stage(),
                                    std::max(stage.links_size() - 1, 0),
                                    Bar(stage.links(), columns - kLabel - 2)));
  }
  return lines;
}

void PrintInBand(const v1::InBandReport& report) {
  printf(
      "in band: forward %.1f us, back %.1f us, deciding %.1f us, installing %.1f us; %.1f us in "
      "all\n",
      report.forward_seconds() * 1e6, report.backward_seconds() * 1e6,
      report.decide_seconds() * 1e6, report.install_seconds() * 1e6, report.seconds() * 1e6);
  printf("in the model: %" PRIu64 " steps forward, %" PRIu64 " back, %" PRIu64
         " to install and acknowledge\n",
         report.forward_steps(), report.backward_steps(), report.install_steps());
  if (report.set_up_p50_seconds() > 0)
    printf("a set-up, first probe to acknowledged: p50 %.2f us, p99 %.2f us\n",
           report.set_up_p50_seconds() * 1e6, report.set_up_p99_seconds() * 1e6);
}

}  // namespace bfly::control
