// SPDX-License-Identifier: Apache-2.0
#include "topologies/link_text.h"

#include "absl/strings/str_cat.h"

namespace bfly {

std::string LinkText(LinkId link) {
  return absl::StrCat("s", link.stage, " r", link.row, " p", link.port);
}

}  // namespace bfly
