// SPDX-License-Identifier: Apache-2.0
// The output nodes of a data server as programs use them: they count the paths that end at their
// disks (Cole et al. 1998, section 3; THEORY.md 2.6, 2.7). No DPDK and no threads: the worker of
// the last stage calls it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "dataplane/programs/message.h"
#include "dataplane/programs/pass.h"

namespace bfly::dataplane {

class DiskNodes {
 public:
  // There is one disk behind each output row.
  explicit DiskNodes(uint32_t rows);

  // Arrive gets a burst that has come to the outputs, Leave a burst that is about to go back.
  // Markers stand in bursts as in those of StageNodes.
  void Arrive(const Message* burst, int count);
  void Leave(Message* burst, int count) const;

  // How many circuits end at a disk. Any thread may call it.
  uint32_t circuits(Row disk) const { return circuits_[disk].load(std::memory_order_relaxed); }

  // Passes use the functions below.

  // `more` is 1, or ~0u to subtract one.
  void AddCircuits(Row disk, uint32_t more) {
    circuits_[disk].store(circuits(disk) + more, std::memory_order_relaxed);
  }
  void ForgetCircuits();
  // A byte for each disk that a pass writes and reads. It is 0 when the pass begins.
  const uint8_t* marks() const { return marks_.get(); }
  uint8_t* WriteMarks() {
    marked_ = true;
    return marks_.get();
  }

 private:
  const uint32_t rows_;
  const Pass* pass_ = nullptr;  // the pass that was begun last
  bool marked_ = false;         // some of marks_ is not 0
  std::unique_ptr<uint8_t[]> marks_;
  std::unique_ptr<std::atomic<uint32_t>[]> circuits_;  // worker: writes, readers: relaxed loads
};

}  // namespace bfly::dataplane
