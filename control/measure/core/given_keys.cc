// SPDX-License-Identifier: Apache-2.0
#include "control/measure/core/given_keys.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/topology_file/schema.h"
#include "google/protobuf/util/message_differencer.h"

namespace bfly::control {
namespace {

bool HasDefaultOf(const google::protobuf::Message& file, const std::string& key) {
  const std::unique_ptr<google::protobuf::Message> given(file.New()), plain(file.New());
  given->CopyFrom(file);
  FillDefaults(given.get());
  FillDefaults(plain.get());
  const std::vector<const google::protobuf::FieldDescriptor*> field = {
      file.GetDescriptor()->FindFieldByName(key)};
  google::protobuf::util::MessageDifferencer difference;
  return difference.CompareWithFields(*given, *plain, field, field);
}

}  // namespace

absl::Status CheckIsOfAPoint(const google::protobuf::Message& file, const PointKey& key) {
  if (key.any_point_has_it || HasDefaultOf(file, key.key)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(key.key, ": nothing in this file uses this key; these use it: ", key.owners));
}

}  // namespace bfly::control
