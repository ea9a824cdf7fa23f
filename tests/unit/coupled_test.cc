// SPDX-License-Identifier: Apache-2.0
// Coupled sample paths: Lemmas 7 to 10 and Proposition 11 of Stamoulis & Tsitsiklis.
#include "dataplane/virtual_clock/coupled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace bfly::dataplane {
namespace {

CoupledResult RunOn(NetworkKind kind, uint32_t rows, const CoupledConfig& config) {
  auto result = RunCoupled(*Network::Make({.kind = kind, .rows = rows}), config);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

TEST(Coupled, FifoIsNeverLaterOnAnyPath) {
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kHypercube}) {
    for (const double flip : {.25, .5, 1.}) {
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        const double rate =
            .9 / (kind == NetworkKind::kHypercube ? flip : std::max(flip, 1 - flip));
        const CoupledResult r =
            RunOn(kind, 16, {.rate = rate, .flip = flip, .duration = 500, .seed = seed});
        EXPECT_NEAR(static_cast<double>(r.packets), rate * 16 * 500, 600);
        for (const PathCount& count :
             {r.same_arrivals, r.earlier_arrivals, r.links, r.departures}) {
          EXPECT_EQ(count.violations, 0u);
          EXPECT_GT(count.compared, r.packets / 2);
        }
        EXPECT_EQ(r.departures.compared, r.packets);
        // Lemma 9 gives Lemma 8 its assumption at every link.
        EXPECT_EQ(r.earlier_arrivals.compared, r.links.compared);
      }
    }
  }
}

TEST(Coupled, PacketsCrossAsManyLinksAsDecisionsSay) {
  // Each of 5 stages is crossed with probability 1/4: 1.25 links a packet on the cube, 5 on the
  // butterfly.
  const CoupledConfig config{.rate = .5, .flip = .25, .duration = 2000, .seed = 7};
  const CoupledResult cube = RunOn(NetworkKind::kHypercube, 32, config);
  EXPECT_NEAR(static_cast<double>(cube.links.compared) / static_cast<double>(cube.packets), 1.25,
              .03);
  const CoupledResult fly = RunOn(NetworkKind::kButterfly, 32, config);
  EXPECT_EQ(fly.links.compared, 5 * fly.packets);
}

TEST(Coupled, RefusesWhatCannotBeRun) {
  const auto message = [](NetworkKind kind, const CoupledConfig& config) {
    const Network network = *Network::Make({.kind = kind, .rows = 4});
    return std::string(RunCoupled(network, config).status().message());
  };
  const CoupledConfig good{.rate = .5, .flip = .5, .duration = 10, .seed = 1};
  EXPECT_THAT(message(NetworkKind::kBenes, good), testing::HasSubstr("coupled:"));
  CoupledConfig bad = good;
  bad.flip = -1;
  EXPECT_THAT(message(NetworkKind::kButterfly, bad), testing::HasSubstr("flip: -1"));
  bad = good;
  bad.rate = NAN;
  EXPECT_THAT(message(NetworkKind::kButterfly, bad), testing::HasSubstr("rate: nan"));
  bad = good;
  bad.duration = 1e10;
  EXPECT_THAT(message(NetworkKind::kButterfly, bad), testing::HasSubstr("duration: 1e+10"));
}

}  // namespace
}  // namespace bfly::dataplane
