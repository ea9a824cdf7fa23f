// SPDX-License-Identifier: Apache-2.0
#include "control/intent/request_digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr size_t kLong = 128;

}  // namespace

std::string DigestOf(absl::string_view request) {
  if (request.size() <= kLong) return std::string(request);
  const XXH128_hash_t hash = XXH3_128bits(request.data(), request.size());
  return absl::StrCat("long ", request.size(), " ", absl::Hex(hash.high64, absl::kZeroPad16),
                      absl::Hex(hash.low64, absl::kZeroPad16));
}

}  // namespace bfly::control
