// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/disk_nodes.h"

#include <cstring>

namespace bfly::dataplane {

DiskNodes::DiskNodes(uint32_t rows)
    : rows_(rows),
      marks_(std::make_unique<uint8_t[]>(rows)),
      circuits_(std::make_unique<std::atomic<uint32_t>[]>(rows)) {}

void DiskNodes::Arrive(const Message* burst, int count) {
  if (count > 0 && burst->marker == Marker::kBegin) {
    pass_ = &PassAt(burst->slot);
    if (marked_) std::memset(marks_.get(), 0, rows_);
    marked_ = false;
    if (pass_->begins()) pass_->Begin(*this);
    ++burst;
    --count;
  }
  if (count > 0 && burst[count - 1].marker == Marker::kEnd) --count;
  if (count > 0) pass_->Arrive(*this, burst, count);
}

void DiskNodes::ForgetCircuits() {
  for (Row disk = 0; disk < rows_; ++disk) circuits_[disk].store(0, std::memory_order_relaxed);
}

void DiskNodes::Leave(Message* burst, int count) const {
  if (count > 0 && burst[count - 1].marker == Marker::kEnd) --count;
  if (count > 0) pass_->Leave(*this, burst, count);
}

}  // namespace bfly::dataplane
