// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/stage_nodes.h"

#include <algorithm>
#include <cstring>

namespace bfly::dataplane {
namespace {

// The end of the run of probes of one kind that starts at `from`.
int EndOfKind(const Probe* burst, int from, int count) {
  int end = from + 1;
  while (end < count && burst[end].kind == burst[from].kind) ++end;
  return end;
}

}  // namespace

StageCounts::StageCounts(const Network& network, int stage, bool collides,
                         const LinkCapacity& capacity)
    : links_(network.rows() * static_cast<uint32_t>(network.ports())),
      mask_(network.wiring(stage).mask),
      stage_(stage),
      shift_(network.hops() - 1 - stage),
      collides_(collides),
      down_((links_ + 63) / 64),
      active_(collides ? std::make_unique<uint8_t[]>(links_) : nullptr),
      circuits_(std::make_unique<std::atomic<uint32_t>[]>(links_)) {
  for (uint32_t link = 0; capacity.limited() && link < links_; ++link) {
    const uint32_t most = capacity.at(network.link_index({stage, 0, 0}) + link);
    capacity_.push_back(most == LinkCapacity::kUnlimited ? ~0u : most);
  }
  if (network.wiring(stage).table.empty()) return;
  cross_.resize(network.rows());
  crossed_from_.resize(network.rows());
  for (Row row = 0; row < network.rows(); ++row) {
    cross_[row] = network.next_row(stage, row, (row & mask_) == 0);
    crossed_from_[cross_[row]] = row;
  }
}

void StageCounts::Begin() {
  if (counted_) std::memset(active_.get(), 0, links_);
  counted_ = false;
}

template <ProbeKind kKind>
void StageCounts::ForwardAs(Probe* burst, int count) {
  if (cross_.empty()) {
    ForwardOver<kKind, false>(burst, count);
  } else {
    ForwardOver<kKind, true>(burst, count);
  }
}

template <ProbeKind kKind, bool kRandomCross>
void StageCounts::ForwardOver(Probe* burst, int count) {
  // Locals: stores to the counts must not make the compiler read these again.
  const uint32_t mask = mask_;
  const int shift = shift_;
  [[maybe_unused]] uint8_t* const active = active_.get();
  [[maybe_unused]] std::atomic<uint32_t>* const circuits = circuits_.get();
  [[maybe_unused]] const Row* const cross = cross_.data();
  if constexpr (kKind == ProbeKind::kCount) counted_ = true;
  if constexpr (kKind == ProbeKind::kInstall) crossings_ += static_cast<uint64_t>(count);
  if constexpr (kKind == ProbeKind::kRelease) crossings_ -= static_cast<uint64_t>(count);
  for (int i = 0; i < count; ++i) {
    Probe& p = burst[i];
    const uint32_t port = static_cast<uint32_t>(p.tag >> shift) & 1;
    const uint32_t left = (p.row & mask) != 0;
    [[maybe_unused]] const uint32_t link = p.row * 2 + port;
    if constexpr (kKind == ProbeKind::kCount) {
      const uint8_t before = active[link];
      active[link] = static_cast<uint8_t>(before + (before != 255));
    } else if constexpr (kKind == ProbeKind::kInstall || kKind == ProbeKind::kRelease) {
      const uint32_t before = circuits[link].load(std::memory_order_relaxed);
      circuits[link].store(kKind == ProbeKind::kInstall ? before + 1 : before - 1,
                           std::memory_order_relaxed);
    }
    if constexpr (kRandomCross) {
      p.row = port == left ? p.row : cross[p.row];
    } else {
      p.row = (p.row & ~mask) | (mask & (0u - port));
    }
    p.tag ^= Tag{port ^ left} << shift;
  }
}

// The link a probe that goes back is about to cross.
uint32_t StageCounts::LinkBack(const Probe& p) const {
  const uint32_t port = (p.row & mask_) != 0;
  const uint32_t left = static_cast<uint32_t>(p.tag >> shift_) & 1;
  Row row = (p.row & ~mask_) | (mask_ & (0u - left));
  if (!cross_.empty()) row = port == left ? p.row : crossed_from_[p.row];
  return row * 2 + port;
}

void StageCounts::SetLinkUp(uint32_t link, bool up) {
  if (IsDown(link) != up) return;
  down_[link / 64].fetch_xor(uint64_t{1} << link % 64, std::memory_order_relaxed);
  downs_.fetch_add(up ? ~0u : 1u, std::memory_order_relaxed);
}

void StageCounts::Reserve(Probe* burst, int count) {
  const bool faults = downs_.load(std::memory_order_relaxed) != 0;
  for (int i = 0; i < count; ++i) {
    Probe& p = burst[i];
    if (p.down != 0) continue;
    const uint32_t link = p.row * 2 + (static_cast<uint32_t>(p.tag >> shift_) & 1);
    if (faults && IsDown(link)) {
      p.down = static_cast<uint8_t>(stage_ + 1);
    } else if (p.full != 0) {
      // Refused already; a link that is down further on is what it is refused for then.
    } else if (HasRoom(link)) {
      Add(link, 1);
      ++crossings_;
    } else {
      p.full = static_cast<uint8_t>(stage_ + 1);
      p.most = circuits(link);
    }
  }
}

void StageCounts::TakeBack(const Probe* burst, int count) {
  for (int i = 0; i < count; ++i) {
    const Probe& p = burst[i];
    // It was counted before the first link that refused it.
    const int refused = p.full != 0 && (p.down == 0 || p.full < p.down) ? p.full : p.down;
    if (refused <= stage_ + 1) continue;
    Add(LinkBack(burst[i]), ~0u);  // one less
    --crossings_;
  }
}

void StageCounts::NoteFull(Probe* burst, int count) const {
  if (capacity_.empty()) return;
  for (int i = 0; i < count; ++i) {
    if (!HasRoom(LinkBack(burst[i]))) burst[i].full = static_cast<uint8_t>(stage_ + 1);
  }
}

void StageCounts::NoteDown(Probe* burst, int count) const {
  if (downs_.load(std::memory_order_relaxed) == 0) return;
  for (int i = 0; i < count; ++i) {
    if (IsDown(LinkBack(burst[i]))) burst[i].down = static_cast<uint8_t>(stage_ + 1);
  }
}

template <bool kActive, bool kCircuits>
void StageCounts::BackwardAs(Probe* burst, int count, uint32_t itself) {
  if (cross_.empty()) {
    BackwardOver<kActive, kCircuits, false>(burst, count, itself);
  } else {
    BackwardOver<kActive, kCircuits, true>(burst, count, itself);
  }
}

template <bool kActive, bool kCircuits, bool kRandomCross>
void StageCounts::BackwardOver(Probe* burst, int count, [[maybe_unused]] uint32_t itself) {
  const uint32_t mask = mask_;
  const int shift = shift_;
  [[maybe_unused]] const uint8_t* const active = active_.get();
  [[maybe_unused]] const std::atomic<uint32_t>* const circuits = circuits_.get();
  [[maybe_unused]] const Row* const crossed_from = crossed_from_.data();
  for (int i = 0; i < count; ++i) {
    Probe& p = burst[i];
    const uint32_t port = (p.row & mask) != 0;
    const uint32_t left = static_cast<uint32_t>(p.tag >> shift) & 1;
    if constexpr (kRandomCross) {
      p.row = port == left ? p.row : crossed_from[p.row];
    } else {
      p.row = (p.row & ~mask) | (mask & (0u - left));
    }
    p.tag ^= Tag{port ^ left} << shift;
    if constexpr (kActive || kCircuits) {
      const uint32_t link = p.row * 2 + port;
      uint32_t found = itself;
      if constexpr (kActive) found = active[link];
      if constexpr (kCircuits) found += circuits[link].load(std::memory_order_relaxed);
      p.most = std::max(p.most, found);
    }
  }
}

// Dispatches once for each run of one kind: bursts are of one kind but for the ends of a pass.
void StageCounts::Forward(Probe* burst, int count) {
  for (int from = 0; from < count;) {
    const int end = EndOfKind(burst, from, count);
    switch (burst[from].kind) {
      case ProbeKind::kBegin:
        Begin();
        break;
      case ProbeKind::kEnd:
        break;
      case ProbeKind::kCount:
        if (collides_) {
          ForwardAs<ProbeKind::kCount>(burst + from, end - from);
        } else {
          ForwardAs<ProbeKind::kWalk>(burst + from, end - from);
        }
        break;
      case ProbeKind::kInstall:
        ForwardAs<ProbeKind::kInstall>(burst + from, end - from);
        break;
      case ProbeKind::kRelease:
        ForwardAs<ProbeKind::kRelease>(burst + from, end - from);
        break;
      case ProbeKind::kReserve:
        Reserve(burst + from, end - from);
        ForwardAs<ProbeKind::kWalk>(burst + from, end - from);
        break;
      case ProbeKind::kWalk:
      case ProbeKind::kAsk:
        ForwardAs<ProbeKind::kWalk>(burst + from, end - from);
        break;
    }
    from = end;
  }
}

void StageCounts::Backward(Probe* burst, int count) {
  for (int from = 0; from < count;) {
    const int end = EndOfKind(burst, from, count);
    switch (burst[from].kind) {
      case ProbeKind::kBegin:
      case ProbeKind::kEnd:
        break;
      case ProbeKind::kCount:
        NoteDown(burst + from, end - from);
        if (collides_ && crossings_ != 0) {
          BackwardAs<true, true>(burst + from, end - from);
        } else if (collides_) {
          BackwardAs<true, false>(burst + from, end - from);
        } else if (crossings_ != 0) {
          BackwardAs<false, true>(burst + from, end - from, 1);
        } else {
          // Itself and nothing else: it found as much on a collision link.
          BackwardAs<false, false>(burst + from, end - from);
        }
        break;
      case ProbeKind::kAsk:
        NoteFull(burst + from, end - from);
        NoteDown(burst + from, end - from);
        if (collides_) {
          BackwardAs<false, true>(burst + from, end - from);
        } else {
          BackwardAs<false, false>(burst + from, end - from);
        }
        break;
      case ProbeKind::kReserve:
        TakeBack(burst + from, end - from);
        BackwardAs<false, false>(burst + from, end - from);
        break;
      case ProbeKind::kWalk:
      case ProbeKind::kInstall:
      case ProbeKind::kRelease:
        BackwardAs<false, false>(burst + from, end - from);
        break;
    }
    from = end;
  }
}

}  // namespace bfly::dataplane
