// SPDX-License-Identifier: Apache-2.0
// The passes that set circuits up and release them. All programs that set circuits up share them.
#pragma once

#include "dataplane/programs/pass.h"

namespace bfly::dataplane {

// The meaning of the notes of messages of circuit programs. The first two are 1 + stage, or 0 if
// there is no such stage.
inline constexpr int kFullNote = 0;    // the first stage where the path has a link without room
inline constexpr int kDownNote = 1;    // the first stage where the path has a link that is down
inline constexpr int kAtDiskNote = 2;  // paths and circuits at its disk; 255 means 255 or more

// Messages have just come back over their links. Notes the stage if the link is down, or has no
// room. At the input the note holds the first such stage of the path.
void NoteDown(const StageNodes& nodes, Message* burst, int count);
void NoteFull(const StageNodes& nodes, Message* burst, int count);

// Forward, every link and the disk add one circuit. Backward, the message acknowledges that.
class InstallPass final : public Pass {
 public:
  void Forward(StageNodes& nodes, Message* burst, int count) const override;
  void Arrive(DiskNodes& disks, const Message* burst, int count) const override;
};

// Forward, every link and the disk subtract one circuit. Backward, the message acknowledges that.
class ReleasePass final : public Pass {
 public:
  void Forward(StageNodes& nodes, Message* burst, int count) const override;
  void Arrive(DiskNodes& disks, const Message* burst, int count) const override;
};

// InstallPass with a limit: from the first link that has no room or is down, no circuit is counted,
// and on its way back the message takes back what it has counted. Its notes then hold the first
// link without room, which had `value` circuits, and the first link that is down.
class ReservePass final : public Pass {
 public:
  void Forward(StageNodes& nodes, Message* burst, int count) const override;
  void Backward(StageNodes& nodes, Message* burst, int count) const override;
  void Arrive(DiskNodes& disks, const Message* burst, int count) const override;
};

// A pass without messages. From its beginning on no link and no disk counts a circuit.
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
