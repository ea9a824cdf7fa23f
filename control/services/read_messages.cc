// SPDX-License-Identifier: Apache-2.0
#include "control/services/read_messages.h"

#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "control/services/circuit_messages.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

constexpr char kMinimum[] = "minimum";

// The disks of two copies of object n are drawn by the numbers 2n and 2n + 1, so an object from
// this number on lies on the same disks as the object so far below it.
constexpr uint64_t kSameDisksFrom = uint64_t{1} << 63;

template <class Request>
absl::Status CheckSingle(const Request& request) {
  FieldErrors errors;
  errors.Add(CheckKey(request.idempotency_key()));
  errors.Add(RefuseInBand(request.in_band()));
  return errors.ToStatus();
}

}  // namespace

absl::StatusOr<Order> ToOrder(const v1::ObjectRequest& request) {
  if (absl::Status status = CheckSingle(request); !status.ok()) return status;
  return Order{ReadOrder{request.user(), request.object(), ToLinks(request.avoid())},
               request.idempotency_key()};
}

absl::StatusOr<Order> ToOrder(const v1::ReleaseObjectRequest& request) {
  if (absl::Status status = CheckSingle(request); !status.ok()) return status;
  return Order{StopReadingOrder{request.user()}, request.idempotency_key()};
}

absl::Status CheckPlace(const v1::PlaceRequest& request) {
  FieldErrors errors;
  const uint64_t most = kSameDisksFrom - request.count();
  if (request.count() != 0 && request.copies() != 1 && request.first() > most) {
    errors.Add(OutOfRange("first", request.first(), 0, most));
  }
  for (const auto& [field, value] :
       {std::pair{"first", request.first()}, {"seed", request.seed()}}) {
    if (value == 0 || request.objects().empty()) continue;
    errors.Add(field, "is for objects on random disks, not for objects whose disks are given");
  }
  return errors.ToStatus();
}

absl::Status CheckBatch(const v1::ObjectBatchRequest& request, Resource& batch) {
  for (const auto& [field, size] :
       {std::pair{"users", request.users_size()}, {"objects", request.objects_size()}}) {
    if (absl::Status status = CheckBatchSize(batch, field, size); !status.ok()) return status;
  }
  FieldErrors errors;
  errors.Add(CheckKey(request.idempotency_key()));
  if (request.dry_run() && !request.idempotency_key().empty()) {
    errors.Add("idempotency_key", "is of no use with dry_run, which changes nothing");
  }
  for (const auto& [field, value] : {std::pair{"c", request.c()},
                                     {"c_disk", request.c_disk()},
                                     {"max_rounds", request.max_rounds()}}) {
    if (value == 0 || request.protocol() != kMinimum) continue;
    errors.Add(field, absl::StrCat("protocol ", kMinimum, " does not take it, collision does"));
  }
  if (!request.best_effort()) return errors.ToStatus();
  if (request.dry_run()) errors.Add("best_effort", "is for reads that are set up, not for dry_run");
  if (request.avoid_size() != 0) {
    errors.Add("avoid", "is for a batch of all or none, or for one read; leave out best_effort");
  }
  if (request.protocol() != kMinimum) {
    errors.Add("best_effort", absl::StrCat("is for protocol ", kMinimum,
                                           ", which serves one after the other; collision decides "
                                           "all at once"));
  }
  if (request.users_size() != request.objects_size()) {
    errors.Add("objects", absl::StrCat("has ", request.objects_size(), " objects for ",
                                       request.users_size(), " users; give as many"));
  }
  return errors.ToStatus();
}

absl::Status CheckBatch(const v1::ReleaseObjectsRequest& request, Resource& batch) {
  if (absl::Status status = CheckBatchSize(batch, "users", request.users_size()); !status.ok()) {
    return status;
  }
  FieldErrors errors;
  errors.Add(CheckKey(request.idempotency_key()));
  std::unordered_map<uint32_t, int> first_of;
  for (int i = 0; i < request.users_size(); ++i) {
    const auto [first, is_new] = first_of.try_emplace(request.users(i), i);
    if (is_new) continue;
    errors.Add(absl::StrCat("users[", i, "]"),
               absl::StrCat(request.users(i), " is there twice, first at [", first->second, "]"));
  }
  if (request.all() && request.users_size() != 0) {
    errors.Add("users", "are given and all too; leave one of them out");
  }
  if (request.all() && !request.idempotency_key().empty()) {
    errors.Add("idempotency_key",
               "is for named users; a request with `all` may be sent again without it");
  }
  return errors.ToStatus();
}

ReadBatchOrder ToReadOrder(const v1::ObjectBatchRequest& request) {
  return {
      .users = {request.users().begin(), request.users().end()},
      .objects = {request.objects().begin(), request.objects().end()},
      .protocol = request.protocol().empty() ? "collision" : request.protocol(),
      .options = {.c = request.c(), .c_disk = request.c_disk(), .max_rounds = request.max_rounds()},
      .avoid = ToLinks(request.avoid())};
}

void FillObjectPath(const Network& network, const StandingCircuit& circuit, v1::ObjectPath* out) {
  out->set_input(circuit.path.input);
  out->set_output(circuit.path.output);
  const std::vector<Row> rows = WalkTag(network, circuit.path.input, circuit.path.tag);
  out->mutable_rows()->Add(rows.begin(), rows.end());
  out->set_choice(std::string(ChoiceName(circuit.path.choice)));
  out->set_object(circuit.object.value_or(kUnknownObject));
  out->set_circuit(circuit.id);
}

}  // namespace bfly::control
