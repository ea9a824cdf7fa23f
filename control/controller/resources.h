// SPDX-License-Identifier: Apache-2.0
// What clients may use of the controller, how much of it they use, and how often the controller
// refused one of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace bfly::control {

// Thread-safe.
class Resource {
 public:
  Resource(const char* name, uint64_t limit) : name_(name), limit_(limit) {}

  // Viewers may fill half of it. The other half is kept for those who may change the fabric.
  enum class Share { kAll, kViewer };
  // Returns false, and takes nothing, if there is no room for `amount` more. While nobody holds
  // anything, one caller may take more than the limit, so that something large does not wait for
  // ever.
  bool Take(uint64_t amount = 1, Share share = Share::kAll);
  // The same without asking for room, for what must be held in any case.
  void Add(uint64_t amount) { in_use_.fetch_add(amount, std::memory_order_relaxed); }
  void Give(uint64_t amount = 1) { in_use_.fetch_sub(amount, std::memory_order_relaxed); }
  // Sets the amount of what is counted elsewhere.
  void Set(uint64_t in_use) { in_use_.store(in_use, std::memory_order_relaxed); }
  void CountRefusal() { refused_.fetch_add(1, std::memory_order_relaxed); }
  void SetLimit(uint64_t limit) { limit_.store(limit, std::memory_order_relaxed); }

  const char* name() const { return name_; }
  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  // Up to where callers of the share may fill it.
  uint64_t limit(Share share) const { return share == Share::kAll ? limit() : (limit() + 1) / 2; }
  uint64_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  // RESOURCE_EXHAUSTED: "`what`: at most LIMIT are allowed at a time; `instead`".
  absl::Status Exhausted(const char* what, const char* instead, Share share = Share::kAll) const;

 private:
  const char* const name_;
  std::atomic<uint64_t> limit_;
  std::atomic<uint64_t> in_use_ = 0;
  std::atomic<uint64_t> refused_ = 0;
};

// The resources of one controller. A name that ends in _bytes is for memory, in bytes.
struct Resources {
  // Calls that change something, then calls of the other lanes of CallDesk. Each kind has its own
  // room, so that reads and dry runs, which every viewer may ask for, leave room for changes. One
  // thread carries out all programs, and another one all dry runs, for seconds each.
  Resource calls{"calls", 1'024};
  Resource reads{"reads", 1'024};
  Resource programs{"programs", 64};
  Resource dry_runs{"dry_runs", 16};
  Resource orders{"orders", 16'384};
  Resource order_bytes{"order_bytes", 16 << 20};
  Resource in_band_calls{"in_band_calls", 1'024};
  Resource streams{"streams", 32};
  Resource watchers{"watchers", 32};
  Resource subscribers{"subscribers", 256};
  Resource event_streams{"event_streams", 64};
  Resource captures{"captures", 8};
  Resource elections{"elections", 64};
  // The requests of one message.
  Resource batch{"requests_of_a_batch", 65'536};
  Resource objects{"objects", 131'072};
  Resource sources{"sources", 256};
  Resource source_bytes{"source_bytes", 16 << 20};
  // The rows of all sources, each row once for every source that sends from it.
  Resource source_rows{"source_rows", 1 << 22};
  Resource request_bytes{"request_bytes", 96 << 20};
  Resource answer_bytes{"answer_bytes", 24 << 20};
  Resource picture_bytes{"picture_bytes", 24 << 20};

  // Sets the limits that grow with the network. With 0 rows no fabric is loaded.
  void FitTo(uint32_t rows);
  // How many objects a fabric of this size may have.
  static uint64_t MostObjects(uint32_t rows);
  std::vector<const Resource*> all() const;
};

}  // namespace bfly::control
