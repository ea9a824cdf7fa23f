// SPDX-License-Identifier: Apache-2.0
// Sets up requests that have one path each, such as reads of objects in one copy (Cole et al. 1998,
// section 3.2). There is nothing to choose, and one pass installs the paths.
#pragma once

#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/programs/candidates.h"
#include "dataplane/programs/path_installer.h"
#include "dataplane/programs/program.h"

namespace bfly::dataplane {

class SinglePaths final : public CircuitProgram {
 public:
  // The arguments are those of MakeProgram.
  SinglePaths(const std::vector<Candidates>& requests, RouteTable& routes, bool limited = false);

  const Pass* NextPass() override;
  int Emit(Message* burst, int room) override;
  void Return(const Message* burst, int count) override;
  void PassReturned(const PassTimes& times) override;
  InBandReport Report(const Network& network, double cycles_a_second) const override;

 private:
  enum class Phase : uint8_t { kStart, kInstall, kTakeBack, kEnded };

  std::vector<TaggedPath> paths_;
  PathInstaller installer_;
  Phase phase_ = Phase::kStart;
  size_t next_ = 0;          // the next path of paths_
  uint64_t installing_ = 0;  // in cycles
};

}  // namespace bfly::dataplane
