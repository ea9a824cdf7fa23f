// SPDX-License-Identifier: Apache-2.0
// What the output nodes of a data server know of the paths that end at their disks (Cole et al.
// 1998, section 3; THEORY.md 2.6, 2.7). No DPDK, no threads: the worker of the last stage calls it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "dataplane/programs/message.h"

namespace bfly::dataplane {

class DiskCounts {
 public:
  // One disk behind each output row.
  explicit DiskCounts(uint32_t rows);

  // Probes that have come to the outputs, kBegin among them.
  void Arrive(const Probe* burst, int count);
  // Probes that are about to go back: they take the counts of their disk along.
  void Leave(Probe* burst, int count) const;

  // Circuits that end at a disk; any thread.
  uint32_t circuits(Row disk) const { return circuits_[disk].load(std::memory_order_relaxed); }

 private:
  void Add(Row disk, uint32_t circuits) {
    circuits_[disk].store(circuits_[disk].load(std::memory_order_relaxed) + circuits,
                          std::memory_order_relaxed);
  }

  const uint32_t rows_;
  // By disk: paths counted in this pass, 255 and more as 255, which is above every threshold.
  std::unique_ptr<uint8_t[]> active_;
  std::unique_ptr<std::atomic<uint32_t>[]> circuits_;  // worker: writes, readers: relaxed loads
};

}  // namespace bfly::dataplane
