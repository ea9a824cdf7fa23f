// SPDX-License-Identifier: Apache-2.0
#include "control/controller/place_message.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

// Random objects begin so far below the largest number that each of them has a number.
constexpr uint32_t kMostPlaced = 1u << 24;

}  // namespace

absl::StatusOr<PlaceOrder> ToOrder(const v1::PlaceRequest& request, Row rows, uint64_t placed,
                                   uint64_t most) {
  FieldErrors errors;
  if (request.copies() > 2) errors.Add(OutOfRange("copies", request.copies(), 1, 2));
  if (request.objects().empty() == (request.count() == 0)) {
    errors.Add("objects", "give objects with their disks, or count for random ones, one of both");
  }
  // No object has the number kUnknownObject.
  if (request.first() > kUnknownObject - kMostPlaced) {
    errors.Add(OutOfRange("first", request.first(), 0, kUnknownObject - kMostPlaced));
  }
  for (int i = 0; i < request.objects_size(); ++i) {
    if (request.objects(i).object() == kUnknownObject) {
      errors.Add(OutOfRange(absl::StrCat("objects[", i, "].object"), kUnknownObject, 0,
                            kUnknownObject - 1));
    }
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  const uint64_t asked =
      request.count() != 0 ? request.count() : static_cast<uint64_t>(request.objects_size());
  const uint64_t room = request.replace() ? most : most - std::min(most, placed);
  if (asked > room) {
    return ErrorAtField(
        absl::StatusCode::kResourceExhausted, request.count() != 0 ? "count" : "objects",
        absl::StrCat(asked, " objects are more than the ", room, " that there is room for"));
  }
  PlaceOrder order{
      .objects = {}, .room = request.room(), .replace = request.replace(), .record = {}};
  if (request.count() != 0) {
    order.objects = RandomPlacements(rows, request.first(), request.count(),
                                     request.copies() == 1 ? 1 : 2, request.seed());
  }
  for (const v1::PlacedObject& object : request.objects()) {
    order.objects.push_back({object.object(), {object.disks().begin(), object.disks().end()}});
  }
  v1::PlaceRequest record = request;
  record.clear_election_id();
  // Extra fields would be kept on disk, whatever they say.
  record.DiscardUnknownFields();
  order.record = record.SerializeAsString();
  return order;
}

absl::StatusOr<PlaceOrder> OrderOfRecord(const std::string& record, Row rows, uint64_t placed,
                                         uint64_t most) {
  v1::PlaceRequest request;
  if (!request.ParseFromString(record)) return absl::DataLossError("is not a placement");
  return ToOrder(request, rows, placed, most);
}

}  // namespace bfly::control
