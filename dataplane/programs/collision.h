// SPDX-License-Identifier: Apache-2.0
// The c-collision protocol as the input nodes run it (Cole et al. 1998, section 2.1; THEORY.md 2.3
// and 2.4). A round: every active path sends a probe that counts itself on each link and brings
// back the largest count; a request with a path where that is at most c takes it, p before p'.
// After the last round every request installs its path, in one pass more.
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

class CollisionRun final : public Exchange {
 public:
  // Inputs are in range, used once, and free; all requests have two paths, or all have one.
  // `routes` gets the circuits and must outlive the object.
  // `limited`: some links have a capacity or are down; after a refusal nothing is installed.
  CollisionRun(std::vector<Candidates> requests, const CollisionOptions& options,
               RouteTable& routes, bool limited = false);

  bool NextPass() override;
  int Emit(Probe* burst, int room) override;
  void Return(const Probe* burst, int count) override;
  void PassReturned(const PassTimes& times) override;

  // After it ended. `cycles_a_second` is of the times it was given.
  InBandReport Report(const Network& network, double cycles_a_second) const;

 private:
  enum class Phase : uint8_t { kStart, kRound, kInstall, kTakeBack, kEnded };
  static constexpr uint8_t kNone = 2;

  Tag TagOf(uint32_t request) const;
  void Decide();

  const CollisionOptions options_;
  const bool only_;  // no request has a choice: there are no rounds
  const std::vector<Candidates> requests_;
  std::vector<uint8_t> choice_;       // by request: 0 (p), 1 (p') or kNone
  std::vector<uint32_t> last_round_;  // by request: the last one it sent probes in
  std::vector<uint8_t> over_;         // by request: bit w is set if path w is over the threshold
  std::vector<uint8_t> broken_;  // by request: bit w is set if path w crosses a link that is down
  std::vector<uint32_t> active_;
  std::vector<uint32_t> left_per_round_;
  PathInstaller installer_;
  Phase phase_ = Phase::kStart;
  size_t next_ = 0;  // probe of the pass
  uint64_t messages_ = 0;
  uint64_t begun_ = 0, last_returned_ = 0;  // cycles
  uint64_t forward_ = 0, backward_ = 0, decide_ = 0, install_ = 0;
};

}  // namespace bfly::dataplane
