// SPDX-License-Identifier: Apache-2.0
// The minimum protocol (Cole et al. 1998, section 2.2; THEORY.md 2.5). The protocol serves one
// request after the other. A message along each of the two paths brings back the number of circuits
// on the fullest collision link. The path with fewer circuits is installed and acknowledged, or p
// if the numbers are equal. If one of the paths crosses a link that is down, the other path is
// taken. On the data server (section 3.2; THEORY.md 2.7) all links and the disk count.
//
// Because requests are served one at a time, the choices are those of a controller that serves the
// requests in this order. If two set-ups were in flight, messages of the second might pass a link
// before the install of the first does, and count one circuit too few there.
#pragma once

#include <array>
#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/programs/candidates.h"
#include "dataplane/programs/parameters.h"
#include "dataplane/programs/path_installer.h"
#include "dataplane/programs/program.h"
#include "dataplane/programs/report.h"

namespace bfly::dataplane {

// Backward, the value of a message becomes the largest number of circuits on a link that candidate
// paths may share, or at its disk. Its notes say whether a link has no room or is down.
class AskPass final : public Pass {
 public:
  void Backward(StageNodes& nodes, Message* burst, int count) const override;
  void Leave(const DiskNodes& disks, Message* burst, int count) const override;
};

inline const AskPass kAskPass;

class Minimum final : public CircuitProgram {
 public:
  // The arguments are those of MakeProgram. All requests have two paths.
  Minimum(std::vector<Candidates> requests, const MinimumParameters& parameters, RouteTable& routes,
          bool limited = false);

  const Pass* NextPass() override;
  int Emit(Message* burst, int room) override;
  void Return(const Message* burst, int count) override;
  void PassReturned(const PassTimes& times) override;
  InBandReport Report(const Network& network, double cycles_a_second) const override;

 private:
  enum class Phase : uint8_t { kStart, kAsk, kInstall, kTakeBack, kEnded };

  const Candidates& request() const { return requests_[now_]; }
  void Decide();
  Tag chosen() const { return request().tags[second_[now_]]; }

  const std::vector<Candidates> requests_;
  std::vector<uint8_t> second_;  // for each request: whether p' is taken
  const MinimumParameters parameters_;
  PathInstaller installer_;
  Phase phase_ = Phase::kStart;
  size_t now_ = 0;  // the current request
  uint32_t next_ = 0;
  std::array<uint32_t, 2> most_{};
  std::array<bool, 2> full_{}, down_{};
  uint64_t asked_ = 0;  // when the current request began, in cycles
  ProgramCycles cycles_;
  std::vector<uint64_t> took_;  // the time of each request, in cycles
};

}  // namespace bfly::dataplane
