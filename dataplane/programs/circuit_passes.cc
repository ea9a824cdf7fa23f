// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/circuit_passes.h"

#include "dataplane/programs/disk_nodes.h"
#include "dataplane/programs/stage_nodes.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kOneMore = 1;
constexpr uint32_t kOneLess = ~0u;

uint8_t NoteOf(const StageNodes& nodes) { return static_cast<uint8_t>(nodes.stage() + 1); }

}  // namespace

void NoteDown(const StageNodes& nodes, Message* burst, int count) {
  if (!nodes.has_down_links()) return;
  for (int i = 0; i < count; ++i) {
    if (nodes.IsDown(nodes.LinkAhead(burst[i]))) burst[i].notes[kDownNote] = NoteOf(nodes);
  }
}

void NoteFull(const StageNodes& nodes, Message* burst, int count) {
  if (!nodes.has_capacities()) return;
  for (int i = 0; i < count; ++i) {
    if (!nodes.HasRoom(nodes.LinkAhead(burst[i]))) burst[i].notes[kFullNote] = NoteOf(nodes);
  }
}

void InstallPass::Forward(StageNodes& nodes, Message* burst, int count) const {
  nodes.CrossAndAdd(burst, count, kOneMore);
}

void InstallPass::Arrive(DiskNodes& disks, const Message* burst, int count) const {
  for (int i = 0; i < count; ++i) disks.AddCircuits(burst[i].row, kOneMore);
}

void ReleasePass::Forward(StageNodes& nodes, Message* burst, int count) const {
  nodes.CrossAndAdd(burst, count, kOneLess);
}

void ReleasePass::Arrive(DiskNodes& disks, const Message* burst, int count) const {
  for (int i = 0; i < count; ++i) disks.AddCircuits(burst[i].row, kOneLess);
}

void ReservePass::Forward(StageNodes& nodes, Message* burst, int count) const {
  const bool faults = nodes.has_down_links();
  nodes.Cross(burst, count, [&nodes, faults](Message& m, uint32_t link) {
    if (m.notes[kDownNote] != 0) return;
    if (faults && nodes.IsDown(link)) {
      m.notes[kDownNote] = NoteOf(nodes);
    } else if (m.notes[kFullNote] != 0) {
      // The message was refused before. A link further on that is down becomes the reason.
    } else if (nodes.HasRoom(link)) {
      nodes.AddCircuits(link, kOneMore);
    } else {
      m.notes[kFullNote] = NoteOf(nodes);
      m.value = nodes.circuits(link);
    }
  });
}

void ReservePass::Backward(StageNodes& nodes, Message* burst, int count) const {
  nodes.CrossBack(burst, count, [&nodes](const Message& m, uint32_t link) {
    const int full = m.notes[kFullNote];
    const int down = m.notes[kDownNote];
    // The message was counted on links before the first one that refused it.
    const int refused = full != 0 && (down == 0 || full < down) ? full : down;
    if (refused > NoteOf(nodes)) nodes.AddCircuits(link, kOneLess);
  });
}

void ReservePass::Arrive(DiskNodes& disks, const Message* burst, int count) const {
  for (int i = 0; i < count; ++i) {
    const Message& m = burst[i];
    if (m.notes[kFullNote] == 0 && m.notes[kDownNote] == 0) disks.AddCircuits(m.row, kOneMore);
  }
}

void ForgetPass::Begin(StageNodes& nodes) const { nodes.ForgetCircuits(); }
void ForgetPass::Begin(DiskNodes& disks) const { disks.ForgetCircuits(); }

}  // namespace bfly::dataplane
