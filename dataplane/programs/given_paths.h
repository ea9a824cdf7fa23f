// SPDX-License-Identifier: Apache-2.0
// Programs that choose nothing: one sends a message along given paths, the other releases and
// installs given circuits.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/programs/program.h"

namespace bfly::dataplane {

// Sends one message along each of the paths. With kWalkPass it is the baseline of measurements of
// other programs.
class GivenPaths final : public Program {
 public:
  GivenPaths(const Pass& pass, std::vector<TaggedPath> paths)
      : pass_(pass), paths_(std::move(paths)), values_(paths_.size()) {}

  const Pass* NextPass() override;
  int Emit(Message* burst, int room) override { return EmitAlong(paths_, next_, burst, room); }
  void Return(const Message* burst, int count) override;
  void PassReturned(const PassTimes& times) override { times_ = times; }

  const PassTimes& times() const { return times_; }
  // For each path: the value that its message brought back.
  const std::vector<uint32_t>& values() const { return values_; }

 private:
  const Pass& pass_;
  const std::vector<TaggedPath> paths_;
  std::vector<uint32_t> values_;
  bool started_ = false;
  size_t next_ = 0;
  PassTimes times_;
};

struct GivenCircuits {
  // At most one release and one install for each input.
  std::vector<TaggedPath> release;
  std::vector<TaggedPath> install;
  bool empty() const { return release.empty() && install.empty(); }
};

// Releases circuits, then installs circuits.
class SetGivenCircuits final : public Program {
 public:
  // If `routes` is given, it loses the circuit of an input when the release is acknowledged, and
  // gets the circuit when the install is acknowledged.
  explicit SetGivenCircuits(GivenCircuits circuits, RouteTable* routes = nullptr)
      : circuits_(std::move(circuits)), routes_(routes) {}

  const Pass* NextPass() override;
  int Emit(Message* burst, int room) override;
  void Return(const Message* burst, int count) override;
  void PassReturned(const PassTimes& times) override;

  // The cycles from the first message to the last acknowledgement.
  uint64_t cycles() const { return times_.returned - times_.begun; }

 private:
  enum class Phase : uint8_t { kStart, kRelease, kInstall, kEnded };

  const GivenCircuits circuits_;
  RouteTable* const routes_;
  Phase phase_ = Phase::kStart;
  size_t next_ = 0;  // the next path of the phase
  PassTimes times_;
};

}  // namespace bfly::dataplane
