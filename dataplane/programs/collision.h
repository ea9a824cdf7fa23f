// SPDX-License-Identifier: Apache-2.0
// The c-collision protocol (Cole et al. 1998, section 2.1; THEORY.md 2.3 and 2.4). A round: every
// active path sends a message that counts itself on each link and brings back the largest count; a
// request with a path where that is at most c takes it, p before p'. After the last round every
// request installs its path, in one pass more.
//
// On the data server (section 3.1; THEORY.md 2.6) a path must also end at a disk with at most
// c_disk. A path over a link that is down asks and is counted like any other, and is never taken
// while the other one is whole. Paths selected in earlier rounds are not counted: counting them
// would select the same.
#pragma once

#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/programs/candidates.h"
#include "dataplane/programs/parameters.h"
#include "dataplane/programs/path_installer.h"
#include "dataplane/programs/program.h"
#include "dataplane/programs/report.h"

namespace bfly::dataplane {

// Forward: a message counts itself on every link that candidate paths may share, and at its disk.
// Back: its value becomes the largest sum of paths counted in this pass and circuits on a link, and
// its notes say what its disk has and whether a link is down. On other links it is the only path.
class CountPass final : public Pass {
 public:
  void Forward(StageNodes& nodes, Message* burst, int count) const override;
  void Backward(StageNodes& nodes, Message* burst, int count) const override;
  void Arrive(DiskNodes& disks, const Message* burst, int count) const override;
  void Leave(const DiskNodes& disks, Message* burst, int count) const override;
};

inline const CountPass kCountPass;

class Collision final : public CircuitProgram {
 public:
  // As MakeProgram's. All requests have two paths.
  Collision(std::vector<Candidates> requests, const CollisionParameters& parameters,
            RouteTable& routes, bool limited = false);

  const Pass* NextPass() override;
  int Emit(Message* burst, int room) override;
  void Return(const Message* burst, int count) override;
  void PassReturned(const PassTimes& times) override;
  InBandReport Report(const Network& network, double cycles_a_second) const override;

 private:
  enum class Phase : uint8_t { kStart, kRound, kInstall, kTakeBack, kEnded };
  static constexpr uint8_t kNone = 2;

  Tag TagOf(uint32_t request) const;
  void Decide();

  const CollisionParameters parameters_;
  const std::vector<Candidates> requests_;
  std::vector<uint8_t> choice_;       // by request: 0 (p), 1 (p') or kNone
  std::vector<uint32_t> last_round_;  // by request: the last one it sent messages in
  std::vector<uint8_t> over_;         // by request: bit w is set if path w is over the threshold
  std::vector<uint8_t> broken_;  // by request: bit w is set if path w crosses a link that is down
  std::vector<uint32_t> active_;
  std::vector<uint32_t> left_per_round_;
  PathInstaller installer_;
  Phase phase_ = Phase::kStart;
  size_t next_ = 0;  // message of the pass
  uint64_t messages_ = 0;
  ProgramCycles cycles_;
};

}  // namespace bfly::dataplane
