// SPDX-License-Identifier: Apache-2.0
// The passes that set circuits up and release them. All programs that set circuits up share them.
#pragma once

#include "dataplane/programs/pass.h"

namespace bfly::dataplane {

// Notes of messages of circuit programs. The number of a stage stands in a note as 1 + stage, and 0
// says that there is none.
inline constexpr int kFullNote = 0;    // a stage where the path has a link without room
inline constexpr int kDownNote = 1;    // a stage where the path has a link that is down
inline constexpr int kAtDiskNote = 2;  // paths and circuits at its disk, 255: so many or more

// For messages that have just come back over their links: note the stage if the link is down, or
// has no room. What stands in the note at the input is the first such stage of the path.
void NoteDown(const StageNodes& nodes, Message* burst, int count);
void NoteFull(const StageNodes& nodes, Message* burst, int count);

// Forward: one circuit more on every link and at the disk; back: the acknowledgement.
class InstallPass final : public Pass {
 public:
  void Forward(StageNodes& nodes, Message* burst, int count) const override;
  void Arrive(DiskNodes& disks, const Message* burst, int count) const override;
};

// Forward: one circuit less; back: the acknowledgement.
class ReleasePass final : public Pass {
 public:
  void Forward(StageNodes& nodes, Message* burst, int count) const override;
  void Arrive(DiskNodes& disks, const Message* burst, int count) const override;
};

// As InstallPass where there is room and links are up. From the first link without room or down on
// nothing is counted, and back the message takes back what it counted before. Its notes, when back,
// are of the first link without room, on which `value` circuits stood, and the first that is down.
class ReservePass final : public Pass {
 public:
  void Forward(StageNodes& nodes, Message* burst, int count) const override;
  void Backward(StageNodes& nodes, Message* burst, int count) const override;
  void Arrive(DiskNodes& disks, const Message* burst, int count) const override;
};

// Without messages: from its beginning on no link and no disk counts a circuit.
class ForgetPass final : public Pass {
 public:
  ForgetPass() : Pass(/*begins=*/true) {}
  void Begin(StageNodes& nodes) const override;
  void Begin(DiskNodes& disks) const override;
};

inline const ForgetPass kForgetPass;
inline const InstallPass kInstallPass;
inline const ReleasePass kReleasePass;
inline const ReservePass kReservePass;

}  // namespace bfly::dataplane
