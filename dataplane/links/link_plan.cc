// SPDX-License-Identifier: Apache-2.0
#include "dataplane/links/link_plan.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {
namespace {

template <typename Value, typename Bound>
absl::Status Outside(const std::string& field, Value value, Bound least, Bound most) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is outside ", least, "..", most));
}

}  // namespace

absl::Status CheckLinkShape(const std::string& at, const LinkShape& shape) {
  if (shape.bits_per_second > kMaxLinkRate) {
    return Outside(at + "bits_per_second", shape.bits_per_second, uint64_t{0}, kMaxLinkRate);
  }
  if (shape.delay_ns > kMaxLinkDelayNs) {
    return Outside(at + "delay_ns", shape.delay_ns, uint64_t{0}, kMaxLinkDelayNs);
  }
  if (shape.queue_limit > kMaxLinkQueue) {
    return Outside(at + "queue_limit", shape.queue_limit, uint32_t{0}, kMaxLinkQueue);
  }
  if (!(shape.loss >= 0 && shape.loss <= 1)) return Outside(at + "loss", shape.loss, 0, 1);
  return absl::OkStatus();
}

absl::Status CheckLinkPlan(const LinkPlan& plan, const Network& network) {
  if (absl::Status status = CheckLinkShape("links.", plan.base); !status.ok()) return status;
  for (size_t i = 0; i < plan.rules.size(); ++i) {
    const LinkRule& rule = plan.rules[i];
    const std::string at = absl::StrCat("links.rules[", i, "].");
    if (rule.first_stage < 0 || rule.last_stage < rule.first_stage ||
        rule.last_stage >= network.stages()) {
      return absl::InvalidArgumentError(absl::StrCat(at, "stages: ", rule.first_stage, "-",
                                                     rule.last_stage, " is not a range within 0-",
                                                     network.stages() - 1));
    }
    if (rule.last_row < rule.first_row || rule.last_row >= network.rows()) {
      return absl::InvalidArgumentError(absl::StrCat(at, "rows: ", rule.first_row, "-",
                                                     rule.last_row, " is not a range within 0-",
                                                     network.rows() - 1));
    }
    if (rule.port && (*rule.port < 0 || *rule.port >= network.ports())) {
      return Outside(at + "port", *rule.port, 0, network.ports() - 1);
    }
    if (absl::Status status = CheckLinkShape(at, rule.Applied(LinkShape())); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace bfly::dataplane
