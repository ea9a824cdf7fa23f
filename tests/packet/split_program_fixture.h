// SPDX-License-Identifier: Apache-2.0
// A network cut after some of its stages, a data plane a part, all in this process.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/protocols/data_server.h"
#include "control/protocols/protocol.h"
#include "dataplane/in_band/in_band.h"
#include "tests/packet/fabric_fixture.h"
#include "tests/packet/trunk_cable.h"
#include "topologies/permutation.h"

namespace bfly::dataplane {

class SplitFabric {
 public:
  // `whole` is of one data plane with one worker; `cuts` are stages with a trunk behind them,
  // ascending.
  SplitFabric(const FabricConfig& whole, const std::vector<int>& cuts, int workers_a_part = 1)
      : whole_(whole), cuts_(cuts), workers_a_part_(workers_a_part) {
    for (size_t t = 0; t < cuts.size(); ++t) cables_.push_back(std::make_unique<TrunkCable>());
    parts_.resize(cuts.size() + 1);
    // What is behind a trunk is there first, as where a controller loads.
    for (size_t p = parts_.size(); p-- > 0;) Load(p);
  }
  ~SplitFabric() {
    for (const auto& part : parts_) EXPECT_TRUE(part == nullptr || part->Unload().ok());
    for (const auto& cable : cables_) cable->Empty();
  }

  void Load(size_t p) { parts_[p] = MustLoad(ConfigOf(p)); }
  // It is dead: what is on its trunks waits for the one that comes after it.
  void Unload(size_t p) { ASSERT_TRUE(parts_[p]->Unload().ok()); }
  TrunkCable& cable(size_t t) { return *cables_[t]; }
  Fabric& part(size_t p) { return *parts_[p]; }
  Fabric& first() { return *parts_[0]; }
  const Network& network() const { return parts_[0]->network(); }
  InBand& in_band() { return **parts_[0]->in_band(); }

  // By link of the whole network, each as the data plane of its stage counts it.
  std::vector<uint32_t> circuits_on_links() {
    return Sum([](const InBand& in_band) { return in_band.circuits_on_links(); });
  }
  std::vector<uint32_t> circuits_at_disks() {
    return (*parts_.back()->in_band())->circuits_at_disks();
  }
  uint64_t Dropped(DropReason reason) const {
    uint64_t sum = 0;
    for (const auto& part : parts_) sum += DroppedBy(part->snapshot(), reason);
    return sum;
  }

 private:
  FabricConfig ConfigOf(size_t p) const {
    FabricConfig config = whole_;
    const int first = p == 0 ? 0 : cuts_[p - 1] + 1;
    const int last = p == cuts_.size() ? whole_.placement[0].last_stage : cuts_[p];
    config.placement.clear();
    const int middle = (first + last) / 2;
    const auto lcore = [&](size_t w) { return Lcores().at(p + w * parts_.size()).number; };
    if (workers_a_part_ == 1 || first == last) {
      config.placement = {{.first_stage = first, .last_stage = last, .lcore = lcore(0)}};
    } else {
      config.placement = {{.first_stage = first, .last_stage = middle, .lcore = lcore(0)},
                          {.first_stage = middle + 1, .last_stage = last, .lcore = lcore(1)}};
    }
    const auto end_of = [&](size_t t, bool sends) {
      TrunkConfig trunk;
      trunk.name = "cut" + std::to_string(cuts_[t]);
      trunk.device = cables_[t]->device(sends ? 0 : 1);
      trunk.after_stage = cuts_[t];
      trunk.sends = sends;
      return trunk;
    };
    if (p > 0) config.trunks.push_back(end_of(p - 1, false));
    if (p < cuts_.size()) config.trunks.push_back(end_of(p, true));
    return config;
  }
  std::vector<uint32_t> Sum(const std::function<std::vector<uint32_t>(const InBand&)>& of) {
    std::vector<uint32_t> sum;
    for (const auto& part : parts_) {
      const std::vector<uint32_t> here = of(**part->in_band());
      sum.resize(here.size());
      for (size_t i = 0; i < here.size(); ++i) sum[i] += here[i];
    }
    return sum;
  }

  const FabricConfig whole_;
  const std::vector<int> cuts_;
  const int workers_a_part_;
  std::vector<std::unique_ptr<TrunkCable>> cables_;
  std::vector<std::unique_ptr<Fabric>> parts_;
};

// All ways to put one or two trunks between the stages.
inline std::vector<std::vector<int>> AllCuts(int stages) {
  std::vector<std::vector<int>> all;
  for (int a = 0; a + 1 < stages; ++a) {
    all.push_back({a});
    for (int b = a + 1; b + 1 < stages; ++b) all.push_back({a, b});
  }
  return all;
}

inline std::vector<InBandRequest> WholePermutation(uint32_t rows, uint64_t seed) {
  const Permutation permutation = *PermutationByName("random", rows, seed);
  std::vector<InBandRequest> requests;
  for (Row input = 0; input < rows; ++input) requests.push_back({input, permutation[input]});
  return requests;
}

inline ProgramParameters ProgramOf(const std::string& protocol, int dimension) {
  if (protocol == "minimum") return MinimumParameters{};
  return CollisionParameters{.c = control::CollisionThreshold(dimension)};
}

inline std::vector<control::CircuitPath> PathsByController(
    const std::string& protocol, const control::LinkLoad& load,
    const std::vector<InBandRequest>& requests) {
  std::vector<control::Request> wanted;
  for (const auto& [input, output] : requests) wanted.push_back({input, output});
  return control::RoutePermutation(protocol, load, wanted)->paths;
}

inline void ExpectPaths(const InBandReport& report,
                        const std::vector<control::CircuitPath>& paths) {
  ASSERT_EQ(report.paths.size(), paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    ASSERT_EQ(report.paths[i].tag, paths[i].tag) << "request " << i;
  }
}

}  // namespace bfly::dataplane
