// SPDX-License-Identifier: Apache-2.0
#include "control/intent/links.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"
#include "topologies/link_text.h"

namespace bfly::control {

absl::Status NoRoom(LinkId link, uint32_t circuits, uint32_t capacity) {
  return ErrorAtField(
      absl::StatusCode::kResourceExhausted, "link",
      absl::StrCat(LinkText(link), " carries ", circuits, circuits == 1 ? " circuit" : " circuits",
                   " and has room for ", capacity));
}

Links::Links(const Network& network, LinkCapacity capacity)
    : network_(network), faults_(network), capacity_(std::move(capacity)) {}

absl::Status Links::CheckAvoid(const std::vector<LinkId>& avoid) const {
  FieldErrors errors;
  for (size_t i = 0; i < avoid.size(); ++i) {
    errors.Add(WithPrefix(network_.CheckLink(avoid[i]), absl::StrCat("avoid[", i, "]")));
  }
  return errors.ToStatus();
}

absl::Status Links::CheckRoom(const CircuitPath& path, const LinkLoad& load) const {
  const auto full = FirstFullLink(capacity_, load, network_, path.input, path.tag);
  if (!full.has_value()) return absl::OkStatus();
  return NoRoom(network_.link_at(*full), load.on_index(*full), capacity_.at(*full));
}

absl::Status Links::CheckPath(const CircuitPath& path, const LinkLoad& load,
                              const FaultSet& faults) const {
  if (const auto link = faults.FirstOnPath(path.input, path.tag); link.has_value()) {
    return ErrorAtField(absl::StatusCode::kUnavailable, "link", faults.WhyBlocked(*link));
  }
  return CheckRoom(path, load);
}

absl::Status Links::CheckInTurn(std::span<const CircuitPath> paths, LinkLoad load,
                                const FaultSet& faults, absl::string_view field) const {
  for (size_t i = 0; i < paths.size(); ++i) {
    const absl::Status status = CheckPath(paths[i], load, faults);
    if (!status.ok()) return WithPrefix(status, absl::StrCat(field, "[", i, "]"));
    load.Add(paths[i].input, paths[i].tag);
  }
  return absl::OkStatus();
}

Forbidden::Forbidden(const Links& links, const std::vector<LinkId>& avoid)
    : faults_(links.faults()) {
  if (avoid.empty()) return;
  own_ = faults_;
  for (const LinkId& link : avoid) own_->Avoid(link);
}

}  // namespace bfly::control
