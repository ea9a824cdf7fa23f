// SPDX-License-Identifier: Apache-2.0
// The minimum protocol (Cole et al. 1998, section 2.2; THEORY.md 2.5), one request after the other:
// a message along each of its two paths brings back the circuits on the
// fullest collision link; the path with fewer, p if they tie, is installed and acknowledged. Where
// one of the two crosses a link that is down, the other is taken. On the data server (section 3.2;
// THEORY.md 2.7) all links and the disk are asked.
//
// One at a time is what makes the choices those of a controller that serves the requests in this
// order: the messages of the second of two set-ups in flight may pass a link before the install of
// the first does, and then find one circuit too few there.
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

// Back: the value of a message becomes the most circuits on a link that candidate paths may share,
// or at its disk, and its notes say whether a link has no room or is down.
class AskPass final : public Pass {
 public:
  void Backward(StageNodes& nodes, Message* burst, int count) const override;
  void Leave(const DiskNodes& disks, Message* burst, int count) const override;
};

inline const AskPass kAskPass;

class Minimum final : public CircuitProgram {
 public:
  // As MakeProgram's. All requests have two paths.
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
  std::vector<uint8_t> second_;  // by request: p' is taken
  const MinimumParameters parameters_;
  PathInstaller installer_;
  Phase phase_ = Phase::kStart;
  size_t now_ = 0;  // request
  uint32_t next_ = 0;
  std::array<uint32_t, 2> most_{};
  std::array<bool, 2> full_{}, down_{};
  uint64_t asked_ = 0;  // cycles, of the request now
  ProgramCycles cycles_;
  std::vector<uint64_t> took_;  // by request
};

}  // namespace bfly::dataplane
