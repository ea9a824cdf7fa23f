// SPDX-License-Identifier: Apache-2.0
#include "control/services/place_message.h"

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

// Objects one call may place on random disks.
constexpr uint32_t kMostPlaced = 1u << 24;

}  // namespace

absl::StatusOr<PlaceOrder> ToOrder(const v1::PlaceRequest& request, Row rows) {
  FieldErrors errors;
  if (request.copies() > 2) errors.Add(OutOfRange("copies", request.copies(), 1, 2));
  if (request.count() > kMostPlaced) {
    errors.Add(OutOfRange("count", request.count(), 1, kMostPlaced));
  }
  if (request.objects().empty() == (request.count() == 0)) {
    errors.Add("objects", "give objects with their disks, or count for random ones, one of both");
  }
  // kUnknownObject is no object's.
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
  order.record = record.SerializeAsString();
  return order;
}

absl::StatusOr<PlaceOrder> OrderOfRecord(const std::string& record, Row rows) {
  v1::PlaceRequest request;
  if (!request.ParseFromString(record)) return absl::DataLossError("is no placement");
  return ToOrder(request, rows);
}

}  // namespace bfly::control
