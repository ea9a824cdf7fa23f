// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/top/view.h"

namespace bfly::control {

const std::vector<View>& Views() {
  static const std::vector<View> views = {
      {"overview", {}, DrawOverview},
      {"links", {"load", "packets", "queue", "drops", "circuits", "place"}, DrawLinks},
      {"workers", {"place", "busy", "behind"}, DrawWorkers},
      {"ports", {"name", "received", "sent", "missed"}, DrawPorts},
      {"circuits", {"congestion", "input", "output", "number"}, DrawCircuits},
      {"latency", {}, DrawLatency},
      {"drawing", {}, DrawDrawing},
  };
  return views;
}

const View* FindView(const std::string& name) {
  const auto found = std::find_if(Views().begin(), Views().end(),
                                  [&name](const View& view) { return view.name == name; });
  return found == Views().end() ? nullptr : &*found;
}

void NoteMissingLinks(const Sample& sample, ViewPage& page) {
  if (sample.every_link) return;
  page.foot.push_back({Span{absl::StrCat("figures of links are those of the ", sample.links.size(),
                                         " links that carried most"),
                            Ink::kDim}});
}

}  // namespace bfly::control
