// SPDX-License-Identifier: Apache-2.0
// The in-band protocols choose what the controller's choose, whatever the order in which workers
// get to run, and leave the right counts on the links.
#include <algorithm>
#include <string>

#include "control/protocols/protocol.h"
#include "dataplane/programs/collision.h"
#include "dataplane/programs/given_paths.h"
#include "dataplane/programs/minimum.h"
#include "tests/property/in_band_model.h"
#include "tests/sanitized.h"
#include "topologies/permutation.h"

namespace bfly::dataplane {
namespace {

using control::LinkLoad;
using control::PathChoice;

Network Fold(uint32_t rows, uint64_t seed) {
  return *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = rows, .seed = seed});
}

std::vector<InBandRequest> Whole(const char* name, uint32_t rows, uint64_t seed) {
  const Permutation permutation = *PermutationByName(name, rows, seed);
  std::vector<InBandRequest> requests;
  for (Row input = 0; input < rows; ++input) requests.push_back({input, permutation[input]});
  return requests;
}

std::vector<control::Request> ForController(const std::vector<InBandRequest>& requests) {
  std::vector<control::Request> all;
  for (const auto& [input, output] : requests) all.push_back({input, output});
  return all;
}

InBandChoice Same(PathChoice choice) {
  switch (choice) {
    case PathChoice::kP:
      return InBandChoice::kP;
    case PathChoice::kPPrime:
      return InBandChoice::kPPrime;
    default:
      return InBandChoice::kArbitrary;
  }
}

void ExpectSame(const InBandReport& in_band, const control::RouteResult& controller) {
  ASSERT_EQ(in_band.paths.size(), controller.paths.size());
  for (size_t i = 0; i < controller.paths.size(); ++i) {
    ASSERT_EQ(in_band.paths[i].tag, controller.paths[i].tag) << "request " << i;
    ASSERT_EQ(in_band.paths[i].choice, Same(controller.paths[i].choice)) << "request " << i;
  }
  EXPECT_EQ(in_band.rounds, controller.rounds);
  EXPECT_EQ(in_band.messages, controller.messages);
  EXPECT_EQ(in_band.left_per_round, controller.left_per_round);
  EXPECT_EQ(in_band.requests_left, controller.requests_left);
}

void Add(LinkLoad& load, const InBandReport& report) {
  for (const InBandPath& path : report.paths) load.Add(path.input, path.tag);
}

TEST(InBand, AWholePermutationGetsTheControllersPaths) {
  for (uint32_t rows = 2; rows <= (kSanitized ? 64 : 1024); rows *= 2) {
    for (const char* name : {"random", "bitrev", "identity"}) {
      for (uint64_t seed = 0; seed < (rows <= 64 ? 8 : 2); ++seed) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << name << ", seed " << seed);
        const Network network = Fold(rows, seed);
        const std::vector<InBandRequest> requests = Whole(name, rows, seed);
        RouteTable routes(network, WithoutCircuit::kDrop);
        for (const char* protocol : {"collision", "minimum"}) {
          InBandModel model(network, static_cast<uint32_t>(seed) + rows);
          InBandReport report;
          if (std::string(protocol) == "collision") {
            Collision run(CandidatesOf(model.candidates(), requests),
                          {.c = control::CollisionThreshold(network.dimension())}, routes);
            model.Run(run);
            report = run.Report(network, 1);
          } else {
            Minimum run(CandidatesOf(model.candidates(), requests), {}, routes);
            model.Run(run);
            report = run.Report(network, 1);
          }
          ExpectSame(report, *control::RoutePermutation(protocol, LinkLoad(network),
                                                        ForController(requests)));
          LinkLoad recount(network);
          Add(recount, report);
          EXPECT_EQ(model.circuits(), recount.counts());
          for (const InBandPath& path : report.paths) {
            ASSERT_EQ(routes.circuit(path.input), ToWire(path.tag, network.hops()));
          }
        }
      }
    }
  }
}

// A third of the inputs by minimum, half of those released, then all free ones by collision: on top
// of circuits that stand, every link counts.
TEST(InBand, OnTopOfStandingCircuitsToo) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    const uint32_t rows = 8u << (seed % 6);
    const Network network = Fold(rows, seed);
    const std::vector<InBandRequest> all = Whole("random", rows, seed);
    RouteTable routes(network, WithoutCircuit::kDrop);
    InBandModel model(network, static_cast<uint32_t>(seed));
    LinkLoad load(network);

    const std::vector<InBandRequest> third(all.begin(), all.begin() + rows / 3);
    Minimum minimum(CandidatesOf(model.candidates(), third), {}, routes);
    model.Run(minimum);
    const InBandReport first = minimum.Report(network, 1);
    ExpectSame(first, *control::RoutePermutation("minimum", load, ForController(third)));
    Add(load, first);

    std::vector<TaggedPath> released;
    std::vector<InBandRequest> rest(all.begin() + rows / 3, all.end());
    for (size_t i = 0; i < first.paths.size(); i += 2) {
      const InBandPath& path = first.paths[i];
      released.push_back({path.input, path.tag});
      rest.push_back({path.input, path.output});
      load.Remove(path.input, path.tag);
    }
    SetGivenCircuits release({.release = released, .install = {}}, &routes);
    model.Run(release);
    EXPECT_EQ(model.circuits(), load.counts());
    for (const TaggedPath& path : released) EXPECT_EQ(routes.circuit(path.input), 0u);

    for (const uint32_t c : {1u, 2u}) {  // the first time nearly nobody finds a path
      Collision collision(CandidatesOf(model.candidates(), rest), {.c = c, .max_rounds = 3},
                          routes);
      model.Run(collision);
      const InBandReport second = collision.Report(network, 1);
      ExpectSame(second, *control::RoutePermutation("collision", load, ForController(rest),
                                                    {.c = c, .max_rounds = 3}));
      Add(load, second);
      EXPECT_EQ(model.circuits(), load.counts());
      released.clear();
      for (const InBandPath& path : second.paths) {
        released.push_back({path.input, path.tag});
        load.Remove(path.input, path.tag);
      }
      SetGivenCircuits again({.release = released, .install = {}}, &routes);
      model.Run(again);
    }
    EXPECT_EQ(model.circuits(), load.counts());
  }
}

TEST(InBand, ACountingMessageBringsBackItsFullestLink) {
  const Network network = Fold(64, 5);
  const std::vector<InBandRequest> requests = Whole("random", 64, 9);
  InBandModel model(network, 1);
  std::vector<TaggedPath> standing, counting;
  LinkLoad load(network);
  for (const auto& [input, output] : requests) {
    const auto tags = model.candidates().tags(input, output);
    counting.push_back({input, tags[0]});
    counting.push_back({input, tags[1]});
    if (input % 3 == 0) standing.push_back({input, tags[0]});
  }
  SetGivenCircuits install({.release = {}, .install = standing});
  model.Run(install);
  for (const auto& paths : {standing, counting}) {
    for (const TaggedPath& path : paths) load.Add(path.input, path.tag);
  }
  // Twice: the counts of a round are gone in the next.
  for (int round = 0; round < 2; ++round) {
    GivenPaths pass(kCountPass, counting);
    model.Run(pass);
    for (size_t i = 0; i < counting.size(); ++i) {
      ASSERT_EQ(pass.values()[i], load.MaxOnPath(counting[i].input, counting[i].tag)) << i;
    }
  }
}

// Why Minimum serves one request after the other.
TEST(InBand, TwoSetUpsInFlightMayMissEachOther) {
  int differ = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Network network = Fold(4, seed);
    RouteTable routes(network, WithoutCircuit::kDrop);
    InBandModel together(network, 1), in_turn(network, 1);
    const std::vector<InBandRequest> both = {{0, static_cast<Row>(seed % 4)},
                                             {1, static_cast<Row>((seed + 1) % 4)}};
    std::vector<TaggedPath> ask;
    for (const auto& [input, output] : both) {
      for (const Tag tag : together.candidates().tags(input, output)) {
        ask.push_back({input, tag});
      }
    }
    GivenPaths asked(kAskPass, ask);
    together.Run(asked);
    Minimum minimum(CandidatesOf(in_turn.candidates(), both), {}, routes);
    in_turn.Run(minimum);
    const bool second = asked.values()[3] < asked.values()[2];
    differ += minimum.Report(network, 1).paths[1].tag != ask[2 + second].tag;
  }
  EXPECT_GT(differ, 0);
}

}  // namespace
}  // namespace bfly::dataplane
