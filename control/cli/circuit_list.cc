// SPDX-License-Identifier: Apache-2.0
#include "control/cli/circuit_list.h"

namespace bfly::control {
namespace {

// Circuits in a page.
constexpr uint32_t kPage = 10'000;

}  // namespace

absl::StatusOr<v1::ListResponse> ListCircuits(v1::ListRequest request, const Common& common) {
  auto stub = v1::Circuits::NewStub(Connect(common));
  request.set_page_size(kPage);
  v1::ListResponse all;
  do {
    v1::ListResponse page;
    const absl::Status status = Call(stub.get(), &v1::Circuits::Stub::List, request, &page, common);
    if (!status.ok()) return status;
    request.set_page_token(page.next_page_token());
    all.MergeFrom(page);
    all.set_next_page_token("");
  } while (!request.page_token().empty());
  return all;
}

}  // namespace bfly::control
