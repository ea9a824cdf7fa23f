// SPDX-License-Identifier: Apache-2.0
// Links with a circuit capacity: in band the same request is refused for the same link as by books
// kept one request after the other, and a refusal leaves every count as it was.
#include <optional>
#include <random>

#include "control/protocols/data_server.h"
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

Network Make(NetworkKind kind, uint32_t rows, uint64_t seed) {
  return *Network::Make({.kind = kind, .rows = rows, .seed = seed});
}

// Every link has `most`, a few have less.
LinkCapacity SomeNarrow(const Network& network, uint32_t most, uint64_t seed) {
  LinkCapacity capacity{.every_link = most, .of_link = {}};
  std::mt19937_64 random(seed);
  for (int i = 0; i < 4; ++i) capacity.of_link[random() % network.link_count()] = 1;
  return capacity;
}

// What came of paths that were set up in order: the first without room, or all of them.
struct Booked {
  std::optional<InBandRefusal> refusal;
  LinkLoad load;
};

Booked Book(const LinkLoad& standing, const std::vector<control::CircuitPath>& paths,
            const LinkCapacity& capacity) {
  const Network& network = standing.network();
  Booked booked{.refusal = {}, .load = standing};
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto full = FirstFullLink(capacity, booked.load, network, paths[i].input, paths[i].tag);
    if (full.has_value()) {
      booked.refusal = {.request = static_cast<uint32_t>(i),
                        .link = network.link_at(*full),
                        .circuits = booked.load.on_index(*full)};
      booked.load = standing;
      return booked;
    }
    booked.load.Add(paths[i].input, paths[i].tag);
  }
  return booked;
}

void ExpectBooked(const Booked& booked, const InBandReport& report,
                  const std::vector<control::CircuitPath>& wanted, const InBandModel& model,
                  const RouteTable& routes, const Network& network) {
  EXPECT_EQ(model.circuits(), booked.load.counts());
  ASSERT_EQ(report.refusal.has_value(), booked.refusal.has_value());
  if (booked.refusal.has_value()) {
    EXPECT_EQ(report.refusal->request, booked.refusal->request);
    EXPECT_EQ(report.refusal->link, booked.refusal->link);
    EXPECT_EQ(report.refusal->circuits, booked.refusal->circuits);
    EXPECT_TRUE(report.paths.empty());
    for (const control::CircuitPath& path : wanted) EXPECT_EQ(routes.circuit(path.input), 0u);
    return;
  }
  ASSERT_EQ(report.paths.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(report.paths[i].tag, wanted[i].tag);
    EXPECT_EQ(routes.circuit(wanted[i].input), ToWire(wanted[i].tag, network.hops()));
  }
}

// Batches choose as if there were room everywhere, and are set up whole or not at all. Tried with
// growing capacities, so that both happen.
TEST(InBandRoom, ABatchIsSetUpWholeOrNotAtAllAndNamesTheLinkThatTheBooksName) {
  int refused = 0, set_up = 0;
  for (uint32_t rows : {4u, 16u, 64u, 256u}) {
    for (uint64_t seed = 0; seed < (kSanitized ? 2 : 6); ++seed) {
      const Network network = Make(NetworkKind::kTwoFoldButterfly, rows, seed);
      const Permutation permutation = *PermutationByName("random", rows, seed);
      const uint32_t first = rows / 4;  // circuits that stand before
      std::vector<InBandRequest> standing, wanted;
      std::vector<control::Request> wanted_by_controller;
      for (Row input = 0; input < rows; ++input) {
        (input < first ? standing : wanted).push_back({input, permutation[input]});
        if (input >= first) wanted_by_controller.push_back({input, permutation[input]});
      }
      for (const std::string protocol : {"collision", "minimum"}) {
        for (uint32_t most = 1; most <= 4; ++most) {
          SCOPED_TRACE(testing::Message() << rows << " rows, seed " << seed << ", " << protocol
                                          << ", capacity " << most);
          const LinkCapacity capacity = SomeNarrow(network, most, seed);
          InBandModel model(network, static_cast<uint32_t>(seed) + most, capacity);
          RouteTable routes(network, WithoutCircuit::kDrop);
          LinkLoad load(network);
          std::vector<TaggedPath> before;
          for (const Candidates& c : CandidatesOf(model.candidates(), standing)) {
            before.push_back({c.input, c.tags[0]});
            load.Add(c.input, c.tags[0]);
          }
          SetGivenCircuits install({.release = {}, .install = before});
          model.Run(install);
          const auto routed = *control::RoutePermutation(protocol, load, wanted_by_controller);
          const Booked booked = Book(load, routed.paths, capacity);
          const std::vector<Candidates> candidates = CandidatesOf(model.candidates(), wanted);
          InBandReport report;
          if (protocol == "collision") {
            Collision run(candidates, {.c = control::CollisionThreshold(network.dimension())},
                          routes, /*limited=*/true);
            model.Run(run);
            report = run.Report(network, 1);
          } else {
            Minimum run(candidates, {}, routes, /*limited=*/true);
            model.Run(run);
            report = run.Report(network, 1);
          }
          ExpectBooked(booked, report, routed.paths, model, routes, network);
          ++(booked.refusal.has_value() ? refused : set_up);
        }
      }
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(set_up, 20);
}

TEST(InBandRoom, SoIsABatchOfReads) {
  int refused = 0, set_up = 0;
  for (uint32_t rows : {4u, 16u, 64u, 256u}) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const Network rb = Make(NetworkKind::kRandomlyWiredButterfly, rows, seed);
      const std::vector<control::Copies> placed = control::PlaceInTwoCopies(rows, rows, seed);
      std::vector<InBandRead> reads;
      std::vector<control::DataServerRequest> requests;
      for (Row user = 0; user < rows; user += 1 + user % 3) {
        reads.push_back({.user = user, .disks = placed[user]});
        requests.push_back({user, placed[user]});
      }
      for (const bool collision : {true, false}) {
        for (uint32_t most = 1; most <= 5; ++most) {
          SCOPED_TRACE(testing::Message() << rows << " rows, seed " << seed << ", capacity " << most
                                          << (collision ? ", collision" : ", minimum"));
          const LinkCapacity capacity = SomeNarrow(rb, most, seed);
          InBandModel model(rb, static_cast<uint32_t>(seed) + most, capacity);
          RouteTable routes(rb, WithoutCircuit::kDrop);
          const auto routed =
              collision ? *control::RouteDataServerCollision(rb, requests, {.c = 5, .c_disk = 5})
                        : *control::RouteDataServerMinimum(rb, requests);
          const Booked booked = Book(LinkLoad(rb), routed.route.paths, capacity);
          InBandReport report;
          if (collision) {
            Collision run(CandidatesOf(rb, reads), {.c = 5, .c_disk = 5}, routes, true);
            model.Run(run);
            report = run.Report(rb, 1);
          } else {
            Minimum run(CandidatesOf(rb, reads), {}, routes, true);
            model.Run(run);
            report = run.Report(rb, 1);
          }
          ExpectBooked(booked, report, routed.route.paths, model, routes, rb);
          std::vector<uint32_t> disks(rows);
          for (const InBandPath& path : report.paths) ++disks[path.output];
          EXPECT_EQ(model.at_disks(), disks);
          ++(booked.refusal.has_value() ? refused : set_up);
        }
      }
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(set_up, 20);
}

// One request at a time, circuits coming and going: the protocol's choice, the other path where
// that has no room, and where neither has, a refusal that names a link of the first choice.
TEST(InBandRoom, OneAtATimeTheOtherPathIsTakenWhereTheChoiceIsFull) {
  int refused = 0, gave_way = 0;
  for (const NetworkKind kind :
       {NetworkKind::kTwoFoldButterfly, NetworkKind::kRandomlyWiredButterfly}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const uint32_t rows = 8u << (seed % 4);
      const Network network = Make(kind, rows, seed);
      const bool server = kind == NetworkKind::kRandomlyWiredButterfly;
      const LinkCapacity capacity = SomeNarrow(network, 1 + seed % 2, seed);
      InBandModel model(network, static_cast<uint32_t>(seed), capacity);
      RouteTable routes(network, WithoutCircuit::kDrop);
      LinkLoad load(network);
      std::vector<uint32_t> at_output(rows);
      std::vector<std::optional<Tag>> held(rows);
      std::mt19937 random(static_cast<uint32_t>(seed));
      const auto draw = [&random](uint32_t n) { return static_cast<Row>(random() % n); };
      const auto hold = [&](Row input, Tag tag) {
        held[input] = tag;
        load.Add(input, tag);
        ++at_output[OutputOfTag(network, tag)];
      };
      for (int step = 0; step < 300; ++step) {
        SCOPED_TRACE(testing::Message() << KindName(kind) << ", seed " << seed << ", " << step);
        const Row input = random() % rows;
        if (held[input].has_value()) {
          SetGivenCircuits release({.release = {{input, *held[input]}}, .install = {}}, &routes);
          model.Run(release);
          load.Remove(input, *held[input]);
          --at_output[OutputOfTag(network, *held[input])];
          held[input].reset();
        } else {
          const Row output = random() % rows;
          if (!server && at_output[output] != 0) continue;
          if (!server && draw(4) == 0) {
            // A path that was given, which may fill a link of any stage.
            const Tag tag = TagThrough(network, draw(rows), output);
            SetGivenCircuits install({.release = {}, .install = {{input, tag}}}, &routes);
            model.Run(install);
            hold(input, tag);
            continue;
          }
          const InBandRead read{.user = input,
                                .disks = {draw(rows / 2), rows / 2 + draw(rows / 2)}};
          const Candidates candidates =
              server ? CandidatesOf(network, std::vector{read})[0]
                     : CandidatesOf(model.candidates(), {{input, output}})[0];
          // The books' choice.
          const int d = network.dimension();
          const auto cost = [&](Tag tag) {
            if (server) {
              return std::max(load.MaxOnPath(input, tag), at_output[OutputOfTag(network, tag)]);
            }
            const std::vector<Row> rows_of_path = WalkTag(network, input, tag);
            const int h = d / 2;
            return load.MaxOnHops(rows_of_path[h], tag, h, d + h);
          };
          const auto full = [&](Tag tag) {
            return FirstFullLink(capacity, load, network, input, tag);
          };
          const bool second = cost(candidates.tags[1]) < cost(candidates.tags[0]);
          Tag chosen = candidates.tags[second];
          if (full(chosen).has_value() && !full(candidates.tags[!second]).has_value()) {
            chosen = candidates.tags[!second];
            ++gave_way;
          }
          Minimum run({candidates}, {.other_if_full = true}, routes, /*limited=*/true);
          model.Run(run);
          const InBandReport report = run.Report(network, 1);
          ASSERT_EQ(report.refusal.has_value(), full(chosen).has_value());
          if (report.refusal.has_value()) {
            EXPECT_EQ(network.link_index(report.refusal->link), *full(chosen));
            EXPECT_EQ(report.refusal->circuits, load.on_index(*full(chosen)));
            EXPECT_EQ(routes.circuit(input), 0u);
            ++refused;
          } else {
            ASSERT_EQ(report.paths[0].tag, chosen);
            hold(input, chosen);
          }
        }
        ASSERT_EQ(model.circuits(), load.counts());
        if (server) {
          ASSERT_EQ(model.at_disks(), at_output);
        }
      }
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(gave_way, 20);
}

}  // namespace
}  // namespace bfly::dataplane
