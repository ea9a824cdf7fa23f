// SPDX-License-Identifier: Apache-2.0
// The c-collision protocol (Cole et al. 1998, section 2.1; THEORY.md 2.3 and 2.4). In a round every
// active path sends a message that counts itself on each link and brings back the largest count. A
// request takes a path whose largest count is at most c, p before p'. After the last round one more
// pass installs the path of every request.
//
// On the data server (section 3.1; THEORY.md 2.6) a path must also end at a disk with at most
// c_disk. A path over a link that is down asks and is counted like any other, but is never taken
// while the other path is whole. Paths selected in earlier rounds are not counted, which does not
// change what is selected.
#pragma once

#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/programs/candidates.h"
#include "dataplane/programs/parameters.h"
#include "dataplane/programs/path_installer.h"
#include "dataplane/programs/program.h"
#include "dataplane/programs/report.h"

namespace bfly::dataplane {

// Forward, a message counts itself on every link that candidate paths may share, and at its disk.
// Backward, its value becomes the largest sum of the paths counted in this pass and the circuits on
// a link. Its notes say what its disk counts and whether a link is down. On all other links its
// path is the only path.
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
  // The arguments are those of MakeProgram. All requests have two paths.
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
  std::vector<uint8_t> choice_;       // for each request: 0 (p), 1 (p') or kNone
  std::vector<uint32_t> last_round_;  // for each request: the last round in which it sent messages
  std::vector<uint8_t> over_;  // for each request: bit w is set if path w is over the threshold
  // For each request: bit w is set if path w crosses a link that is down.
  std::vector<uint8_t> broken_;
  std::vector<uint32_t> active_;
  std::vector<uint32_t> left_per_round_;
  PathInstaller installer_;
  Phase phase_ = Phase::kStart;
  size_t next_ = 0;  // the next message of the pass
  uint64_t messages_ = 0;
  ProgramCycles cycles_;
};

}  // namespace bfly::dataplane
