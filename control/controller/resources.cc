// SPDX-License-Identifier: Apache-2.0
#include "control/controller/resources.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr uint64_t kSmallBatch = 65'536;
constexpr uint64_t kFewObjects = 131'072;
constexpr uint64_t kObjectsPerRow = 16;
// The smallest network gets this many bytes, and a larger one gets more for each row.
constexpr uint64_t kRequestBytes = 96 << 20;
constexpr uint64_t kAnswerBytes = 24 << 20;
constexpr uint64_t kBytesPerRow = 4'096;

}  // namespace

bool Resource::Take(uint64_t amount, Share share) {
  uint64_t now = in_use_.load(std::memory_order_relaxed);
  do {
    if (now != 0 && now + amount > limit(share)) {
      CountRefusal();
      return false;
    }
  } while (!in_use_.compare_exchange_weak(now, now + amount, std::memory_order_relaxed));
  return true;
}

absl::Status Resource::Exhausted(const char* what, const char* instead, Share share) const {
  const char* const whom = share == Share::kViewer ? " before viewers get none" : "";
  return absl::ResourceExhaustedError(absl::StrCat(what, ": at most ", limit(share),
                                                   " are allowed at a time", whom, "; ", instead));
}

uint64_t Resources::MostObjects(uint32_t rows) {
  return std::max(kFewObjects, kObjectsPerRow * rows);
}

void Resources::FitTo(uint32_t rows) {
  batch.SetLimit(std::max<uint64_t>(kSmallBatch, rows));
  objects.SetLimit(MostObjects(rows));
  request_bytes.SetLimit(kRequestBytes + kBytesPerRow * rows);
  answer_bytes.SetLimit(kAnswerBytes + kBytesPerRow * rows);
  picture_bytes.SetLimit(kAnswerBytes + kBytesPerRow * rows);
}

std::vector<const Resource*> Resources::all() const {
  return {&calls,         &reads,        &programs,     &dry_runs,    &orders,        &order_bytes,
          &in_band_calls, &streams,      &watchers,     &subscribers, &event_streams, &captures,
          &elections,     &batch,        &objects,      &sources,     &source_bytes,  &source_rows,
          &request_bytes, &answer_bytes, &picture_bytes};
}

}  // namespace bfly::control
