// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/stage_counts.h"

#include <algorithm>

namespace bfly::dataplane {
namespace {

// The end of the run of probes of one kind that starts at `from`.
int EndOfKind(const Probe* burst, int from, int count) {
  int end = from + 1;
  while (end < count && burst[end].kind == burst[from].kind) ++end;
  return end;
}

}  // namespace

StageCounts::StageCounts(const Network& network, int stage, bool collides)
    : links_(network.rows() * static_cast<uint32_t>(network.ports())),
      mask_(network.wiring(stage).mask),
      shift_(network.hops() - 1 - stage),
      collides_(collides),
      counts_(std::make_unique<LinkCount[]>(links_)) {}

template <ProbeKind kKind>
void StageCounts::ForwardAs(Probe* burst, int count) {
  // Locals: stores to the counts must not make the compiler read these again.
  const uint32_t mask = mask_;
  const int shift = shift_;
  [[maybe_unused]] const uint32_t pass = pass_;
  LinkCount* const counts = counts_.get();
  for (int i = 0; i < count; ++i) {
    Probe& p = burst[i];
    const uint32_t port = static_cast<uint32_t>(p.tag >> shift) & 1;
    const uint32_t left = (p.row & mask) != 0;
    [[maybe_unused]] LinkCount& link = counts[p.row * 2 + port];
    if constexpr (kKind == ProbeKind::kCount) {
      link.active = link.pass == pass ? link.active + 1 : 1;
      link.pass = pass;
    } else if constexpr (kKind == ProbeKind::kInstall || kKind == ProbeKind::kRelease) {
      const uint32_t circuits = link.circuits.load(std::memory_order_relaxed);
      link.circuits.store(kKind == ProbeKind::kInstall ? circuits + 1 : circuits - 1,
                          std::memory_order_relaxed);
    }
    p.row = (p.row & ~mask) | (mask & (0u - port));
    p.tag ^= Tag{port ^ left} << shift;
  }
}

template <ProbeKind kKind>
void StageCounts::BackwardAs(Probe* burst, int count) {
  const uint32_t mask = mask_;
  const int shift = shift_;
  const LinkCount* const counts = counts_.get();
  for (int i = 0; i < count; ++i) {
    Probe& p = burst[i];
    const uint32_t port = (p.row & mask) != 0;
    const uint32_t left = static_cast<uint32_t>(p.tag >> shift) & 1;
    p.row = (p.row & ~mask) | (mask & (0u - left));
    p.tag ^= Tag{port ^ left} << shift;
    if constexpr (kKind == ProbeKind::kCount || kKind == ProbeKind::kAsk) {
      const LinkCount& link = counts[p.row * 2 + port];
      const uint32_t circuits = link.circuits.load(std::memory_order_relaxed);
      // The probe itself counted on this link, so `active` is of this pass.
      const uint32_t found = kKind == ProbeKind::kCount ? circuits + link.active : circuits;
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
        // 0 is what links start with, so it is no pass.
        if (++pass_ == 0) ++pass_;
        break;
      case ProbeKind::kEnd:
        break;
      case ProbeKind::kCount:
        ForwardAs<ProbeKind::kCount>(burst + from, end - from);
        break;
      case ProbeKind::kInstall:
        ForwardAs<ProbeKind::kInstall>(burst + from, end - from);
        break;
      case ProbeKind::kRelease:
        ForwardAs<ProbeKind::kRelease>(burst + from, end - from);
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
        BackwardAs<ProbeKind::kCount>(burst + from, end - from);
        break;
      case ProbeKind::kAsk:
        if (collides_) {
          BackwardAs<ProbeKind::kAsk>(burst + from, end - from);
        } else {
          BackwardAs<ProbeKind::kWalk>(burst + from, end - from);
        }
        break;
      case ProbeKind::kWalk:
      case ProbeKind::kInstall:
      case ProbeKind::kRelease:
        BackwardAs<ProbeKind::kWalk>(burst + from, end - from);
        break;
    }
    from = end;
  }
}

}  // namespace bfly::dataplane
