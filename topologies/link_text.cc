// SPDX-License-Identifier: Apache-2.0
#include "topologies/link_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly {

std::string LinkText(LinkId link) {
  return absl::StrCat("s", link.stage, " r", link.row, " p", link.port);
}

std::string LinkText(const std::vector<LinkId>& links) {
  return absl::StrJoin(links, ",", [](std::string* out, const LinkId& link) {
    absl::StrAppend(out, LinkText(link));
  });
}

}  // namespace bfly
