// SPDX-License-Identifier: Apache-2.0
#include "control/controller/tell_planes.h"

#include <cstddef>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

absl::Status ErrorAtPlane(const DataPlane& plane, const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status named(status.code(),
                     absl::StrCat("data plane ", plane.name(), ": ", status.message()));
  status.ForEachPayload(
      [&](absl::string_view type, const absl::Cord& payload) { named.SetPayload(type, payload); });
  return named;
}

absl::Status TellAllOrNone(const DataPlanes& planes, const TellPlane& change, const TellPlane& undo,
                           Deadline deadline) {
  for (size_t i = 0; i < planes.size(); ++i) {
    const absl::Status status = change(planes[i]->client(), deadline);
    if (status.ok()) continue;
    if (IsUnreachable(status)) MarkOutOfStep(*planes[i], status);
    for (size_t told = 0; told <= i; ++told) {
      const absl::Status undone = undo(planes[told]->client(), UndoDeadline(deadline));
      if (!undone.ok()) MarkOutOfStep(*planes[told], undone);
    }
    return ErrorAtPlane(*planes[i], status);
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
