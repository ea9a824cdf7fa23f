// SPDX-License-Identifier: Apache-2.0
// Many links or nodes that go up or down, each by a call of its own.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace bfly::control {

// Calls `set` for one item after the other, until a call fails. That error then says how many items
// were set before, and the last of them as `text` writes it. `kind` is "link" or "node".
template <typename Item, typename Set, typename Text>
absl::Status SetEach(const std::vector<Item>& items, const std::string& kind, bool up,
                     const Set& set, const Text& text) {
  for (size_t i = 0; i < items.size(); ++i) {
    const absl::Status status = set(items[i]);
    if (status.ok()) continue;
    if (i == 0) return status;
    return absl::Status(status.code(), absl::StrCat(status.message(), "\n", i, " of ", items.size(),
                                                    " ", kind, "s ", i == 1 ? "was" : "were",
                                                    up ? " brought back" : " taken down",
                                                    " before this, the last ", text(items[i - 1])));
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
