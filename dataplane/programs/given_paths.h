// SPDX-License-Identifier: Apache-2.0
// A pass of given probes: circuits installed and released in band, and the bare walk that the
// protocols' passes are measured against.
#pragma once

#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/programs/program.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

struct PassProbe {
  Row input = 0;
  Tag tag = 0;
  ProbeKind kind = ProbeKind::kWalk;  // kWalk, kCount, kInstall or kRelease
};

class OnePass final : public Exchange {
 public:
  // `routes`, if given, loses the circuit of an input when its release is acknowledged, and gets it
  // when its install is. At most one of each an input; releases come first.
  OnePass(std::vector<PassProbe> probes, RouteTable* routes)
      : probes_(std::move(probes)), routes_(routes) {}

  bool NextPass() override;
  int Emit(Probe* burst, int room) override;
  void Return(const Probe* burst, int count) override;
  void PassReturned(const PassTimes& times) override { times_ = times; }

  const PassTimes& times() const { return times_; }
  // By probe: what kCount brought back.
  const std::vector<uint32_t>& most() const { return most_; }

 private:
  const std::vector<PassProbe> probes_;
  RouteTable* const routes_;
  std::vector<uint32_t> most_ = std::vector<uint32_t>(probes_.size());
  bool started_ = false;
  size_t next_ = 0;
  PassTimes times_;
};

}  // namespace bfly::dataplane
