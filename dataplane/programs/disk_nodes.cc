// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/disk_nodes.h"

#include <algorithm>
#include <cstring>

namespace bfly::dataplane {

DiskCounts::DiskCounts(uint32_t rows)
    : rows_(rows),
      active_(std::make_unique<uint8_t[]>(rows)),
      circuits_(std::make_unique<std::atomic<uint32_t>[]>(rows)) {}

void DiskCounts::Arrive(const Probe* burst, int count) {
  for (int i = 0; i < count; ++i) {
    const Row disk = burst[i].row;
    switch (burst[i].kind) {
      case ProbeKind::kBegin:
        std::memset(active_.get(), 0, rows_);
        break;
      case ProbeKind::kCount:
        active_[disk] = static_cast<uint8_t>(active_[disk] + (active_[disk] != 255));
        break;
      case ProbeKind::kInstall:
        Add(disk, 1);
        break;
      case ProbeKind::kReserve:
        if (burst[i].full == 0 && burst[i].down == 0) Add(disk, 1);
        break;
      case ProbeKind::kRelease:
        Add(disk, ~0u);  // one less
        break;
      case ProbeKind::kEnd:
      case ProbeKind::kWalk:
      case ProbeKind::kAsk:
        break;
    }
  }
}

void DiskCounts::Leave(Probe* burst, int count) const {
  for (int i = 0; i < count; ++i) {
    Probe& p = burst[i];
    if (p.kind == ProbeKind::kCount) {
      p.at_disk = static_cast<uint8_t>(std::min(active_[p.row] + circuits(p.row), 255u));
    } else if (p.kind == ProbeKind::kAsk) {
      p.most = std::max(p.most, circuits(p.row));
    }
  }
}

}  // namespace bfly::dataplane
