// SPDX-License-Identifier: Apache-2.0
// What the in-band protocols send through the stages: a probe goes forward along a path and comes
// back along it (Cole et al. 1998, section 2.1; THEORY.md 2.4).
#pragma once

#include <cstdint>
#include <type_traits>

#include "topologies/tag.h"

namespace bfly::dataplane {

enum class ProbeKind : uint8_t {
  kBegin,  // opens a pass on every stage; ends at the outputs
  kEnd,    // closes it: whatever was sent before has arrived. Comes back as the last of the pass
  kWalk,   // there and back, nothing else: what the protocols' passes are measured against
  // A candidate path, on whose links no other is outside the collision stages. Forward: counts
  // itself on every collision link, and at its disk; back: collects active paths + circuits of
  // every link, and those of its disk by themselves.
  kCount,
  kAsk,      // back: collects the circuits on the collision links and at the disk, and whether a
             // link has no room or is down
  kInstall,  // forward: one circuit more on every link; back: the acknowledgement
  // The same where there is room and links are up: from the first link without room or down on,
  // nothing is counted, and back it takes back what it counted before.
  kReserve,
  kRelease,  // forward: one circuit less; back: the acknowledgement
};

// A probe needs no memory of where it came from: crossing stage s forward it takes the port from
// its tag's bit s and leaves there the bit of its row that the port replaced, crossing it backward
// it puts both back. So at the outputs the tag is the way home, and at its input it is as it was.
struct Probe {
  Tag tag = 0;        // kEnd, at the outputs: TSC when the pass turned round
  Row row = 0;        // where the probe is
  uint32_t slot = 0;  // what the input node knows it by
  uint32_t most = 0;  // the largest count found on the way back; kReserve: circuits on a full link
  ProbeKind kind = ProbeKind::kWalk;
  uint8_t at_disk = 0;  // kCount: paths and circuits that end where it does, 255: so many or more
  // kReserve: 1 + the stage of the first link of its path without room; kAsk: of one of them. 0:
  // there is room.
  uint8_t full = 0;
  // kReserve, kCount, kAsk, when back: 1 + the stage of the first link of its path that is down. 0:
  // all are up.
  uint8_t down = 0;
};
static_assert(sizeof(Probe) == 24 && std::is_trivially_copyable_v<Probe>);

// Probes handled at a time: as a data batch, so that data waits no longer for probes than for data.
inline constexpr int kProbeBurst = 256;

}  // namespace bfly::dataplane
