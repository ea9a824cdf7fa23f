// SPDX-License-Identifier: Apache-2.0
#include "control/status/grpc_status.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "control/status/field_errors.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace bfly::control {
namespace {

// Clients take 8 KiB of trailers, and the message stands in them twice: percent-encoded by itself,
// and in the details as base64.
constexpr size_t kMaxMessage = 1200;
constexpr size_t kMaxFields = 2400;
constexpr absl::string_view kMore = "...; and more";

// The number of bytes that `text` takes in a trailer.
size_t EncodedSize(absl::string_view text) {
  size_t size = 0;
  for (const char c : text) size += c >= ' ' && c <= '~' && c != '%' ? 1 : 3;
  return size;
}

// The beginning of `text` that fits, cut at the end of a part if possible.
std::string Shortened(absl::string_view text, size_t size) {
  if (EncodedSize(text) <= size) return std::string(text);
  size_t length = std::min(text.size(), size - kMore.size());
  while (EncodedSize(text.substr(0, length)) > size - kMore.size()) --length;
  const size_t part = text.substr(0, length).rfind("; ");
  if (part != absl::string_view::npos && part > length / 2) length = part;
  // A character of several bytes is not cut.
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  return absl::StrCat(text.substr(0, length), kMore);
}

google::rpc::BadRequest FieldsOf(const absl::Status& status) {
  google::rpc::BadRequest fields;
  const std::vector<FieldError> errors = FieldErrorsOf(status);
  size_t size = 0;
  for (size_t i = 0; i < errors.size(); ++i) {
    auto* violation = fields.add_field_violations();
    size += errors[i].field.size() + errors[i].description.size() + 8;
    if (size > kMaxFields && i > 0) {
      violation->set_field(errors[i].field.size() < 200 ? errors[i].field : "");
      violation->set_description(
          absl::StrCat("and ", errors.size() - i, " errors from here on; mend these first"));
      break;
    }
    violation->set_field(Shortened(errors[i].field, 400));
    violation->set_description(Shortened(errors[i].description, kMaxFields - 500));
  }
  return fields;
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // absl::StatusCode, google.rpc.Code and grpc::StatusCode have the same numbers.
  const auto code = static_cast<grpc::StatusCode>(status.code());
  const std::string message = Shortened(status.message(), kMaxMessage);
  google::rpc::Status details;
  details.set_code(code);
  details.set_message(message);
  const google::rpc::BadRequest fields = FieldsOf(status);
  if (fields.field_violations_size() > 0) details.add_details()->PackFrom(fields);
  return grpc::Status(code, message, details.SerializeAsString());
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return result;
  for (const google::protobuf::Any& any : details.details()) {
    if (any.Is<google::rpc::BadRequest>())
      result.SetPayload(any.type_url(), absl::Cord(any.value()));
  }
  return result;
}

}  // namespace bfly::control
