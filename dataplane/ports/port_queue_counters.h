// SPDX-License-Identifier: Apache-2.0
// Counters of one queue of a port. One worker writes them, any thread reads them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "dataplane/core/ledger.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/telemetry/one_writer.h"

namespace bfly::dataplane {

// The worker of the queue writes once per burst; readers load relaxed.
struct alignas(64) PortQueueCounters {
  std::atomic<uint64_t> packets{0};
  std::atomic<uint64_t> bytes{0};
  std::array<std::atomic<uint64_t>, kDropReasons> drops{};

  // Counts a packet dropped at this queue, in the worker's account and in the port's.
  void Drop(DropReason reason, Ledger& ledger, uint64_t n = 1) {
    ledger.Drop(reason, n);
    Bump(drops[static_cast<int>(reason)], n);
  }
  void AddDropsTo(DropCounts& sum) const {
    for (int i = 0; i < kDropReasons; ++i) sum[i] += drops[i].load(std::memory_order_relaxed);
  }
};

}  // namespace bfly::dataplane
