// SPDX-License-Identifier: Apache-2.0
// Links that are down. Requests in band get the same paths around them, or are refused for the same
// link, as with books that are kept one request after the other; also if links have a capacity.
#include <algorithm>
#include <optional>
#include <random>

#include "control/protocols/data_server.h"
#include "control/protocols/protocol.h"
#include "dataplane/programs/collision.h"
#include "dataplane/programs/given_paths.h"
#include "dataplane/programs/minimum.h"
#include "tests/property/in_band_model.h"
#include "topologies/fault_set.h"
#include "topologies/permutation.h"

namespace bfly::dataplane {
namespace {

using control::LinkLoad;

Network NetworkToBreak(NetworkKind kind, uint32_t rows, uint64_t seed) {
  return *Network::Make({.kind = kind, .rows = rows, .seed = seed});
}

// `links` of the network, and the model, down.
FaultSet TakeDown(const Network& network, InBandModel& model, uint64_t seed, uint32_t links) {
  FaultSet faults(network);
  std::mt19937_64 random(seed);
  while (faults.down_links().size() < links) {
    const LinkId link = network.link_at(random() % network.link_count());
    faults.SetLinkUp(link, false);
    model.SetLinkUp(link, false);
  }
  return faults;
}

// Why a path cannot be set up: a link of it is down, or else has no room. None: it can.
std::optional<InBandRefusal> Refused(const FaultSet& faults, const LinkCapacity& capacity,
                                     const LinkLoad& load, uint32_t request, Row input, Tag tag) {
  if (const auto down = faults.FirstOnPath(input, tag)) {
    return InBandRefusal{
        .request = request, .link = *down, .circuits = 0, .capacity = 0, .down = true};
  }
  const Network& network = load.network();
  const auto full = FirstFullLink(capacity, load, network, input, tag);
  if (!full.has_value()) return std::nullopt;
  return InBandRefusal{.request = request,
                       .link = network.link_at(*full),
                       .circuits = load.on_index(*full),
                       .capacity = 0,
                       .down = false};
}

void ExpectRefusal(const std::optional<InBandRefusal>& report,
                   const std::optional<InBandRefusal>& wanted) {
  ASSERT_EQ(report.has_value(), wanted.has_value());
  if (!wanted.has_value()) return;
  EXPECT_EQ(report->request, wanted->request);
  EXPECT_EQ(report->link, wanted->link);
  EXPECT_EQ(report->circuits, wanted->circuits);
  EXPECT_EQ(report->down, wanted->down);
}

struct Tally {
  int down = 0, full = 0, set_up = 0;
};

// Sets all of them up or none.
void ExpectBatch(const Network& network, const FaultSet& faults, const LinkCapacity& capacity,
                 const std::vector<control::CircuitPath>& wanted, const InBandReport& report,
                 const InBandModel& model, const RouteTable& routes, Tally& tally) {
  LinkLoad load(network);
  std::optional<InBandRefusal> refused;
  for (uint32_t i = 0; i < wanted.size() && !refused.has_value(); ++i) {
    refused = Refused(faults, capacity, load, i, wanted[i].input, wanted[i].tag);
    load.Add(wanted[i].input, wanted[i].tag);
  }
  ExpectRefusal(report.refusal, refused);
  if (refused.has_value()) {
    EXPECT_TRUE(report.paths.empty());
    EXPECT_EQ(model.circuits(), LinkLoad(network).counts());
    for (const control::CircuitPath& path : wanted) EXPECT_EQ(routes.circuit(path.input), 0u);
    ++(refused->down ? tally.down : tally.full);
    return;
  }
  EXPECT_EQ(model.circuits(), load.counts());
  ASSERT_EQ(report.paths.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(report.paths[i].tag, wanted[i].tag);
    EXPECT_EQ(routes.circuit(wanted[i].input), ToWire(wanted[i].tag, network.hops()));
    EXPECT_EQ(report.paths[i].choice == InBandChoice::kArbitrary,
              wanted[i].choice == control::PathChoice::kArbitrary);
  }
  ++tally.set_up;
}

TEST(InBandFaults, ABatchChoosesAmongWholePathsAsTheControllerDoes) {
  Tally tally;
  for (uint32_t rows : {4u, 16u, 64u, 256u}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const Network network = NetworkToBreak(NetworkKind::kTwoFoldButterfly, rows, seed);
      const Permutation permutation = *PermutationByName("random", rows, seed);
      std::vector<InBandRequest> requests;
      std::vector<control::Request> wanted;
      // Some rows only, so that not all batches meet a row that no whole path leaves.
      for (Row input = 0; input < rows; input += 1 + (input + seed) % 4) {
        requests.push_back({input, permutation[input]});
        wanted.push_back({input, permutation[input]});
      }
      for (const std::string protocol : {"collision", "minimum"}) {
        for (uint32_t most : {0u, 1u, 2u, 3u}) {
          SCOPED_TRACE(testing::Message() << rows << " rows, seed " << seed << ", " << protocol
                                          << ", capacity " << most);
          const LinkCapacity capacity{.every_link = most, .of_link = {}};
          InBandModel model(network, static_cast<uint32_t>(seed) + most, capacity);
          const FaultSet faults = TakeDown(
              network, model, seed, std::max(1u, rows / 8) * (1 + static_cast<uint32_t>(seed) % 4));
          RouteTable routes(network, WithoutCircuit::kDrop);
          const auto routed =
              *control::RoutePermutation(protocol, LinkLoad(network), wanted, {.faults = &faults});
          const auto candidates = CandidatesOf(model.candidates(), requests);
          InBandReport report;
          if (protocol == "collision") {
            Collision run(candidates, {.c = control::CollisionThreshold(network.dimension())},
                          routes, /*limited=*/true);
            model.Run(run);
            report = run.Report(network, 1);
            if (!report.refusal.has_value()) {
              EXPECT_EQ(report.left_per_round, routed.left_per_round);
              EXPECT_EQ(report.messages, routed.messages);
            }
          } else {
            Minimum run(candidates, {}, routes, /*limited=*/true);
            model.Run(run);
            report = run.Report(network, 1);
          }
          ExpectBatch(network, faults, capacity, routed.paths, report, model, routes, tally);
        }
      }
    }
  }
  EXPECT_GT(tally.down, 10);
  EXPECT_GT(tally.full, 10);
  EXPECT_GT(tally.set_up, 10);
}

TEST(InBandFaults, ReadsChooseAmongWholePathsAsTheControllerDoes) {
  Tally tally;
  for (uint32_t rows : {8u, 32u, 128u}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const Network rb = NetworkToBreak(NetworkKind::kRandomlyWiredButterfly, rows, seed);
      const std::vector<control::Copies> placed = control::PlaceInTwoCopies(rows, rows, seed);
      std::vector<InBandRead> reads;
      std::vector<control::DataServerRequest> requests;
      for (Row user = 0; user < rows; user += 1 + (user + seed) % 4) {
        reads.push_back({.user = user, .disks = placed[user]});
        requests.push_back({user, placed[user]});
      }
      for (const bool collision : {true, false}) {
        for (uint32_t most : {0u, 2u, 4u}) {
          SCOPED_TRACE(testing::Message() << rows << " rows, seed " << seed << ", capacity " << most
                                          << (collision ? ", collision" : ", minimum"));
          const LinkCapacity capacity{.every_link = most, .of_link = {}};
          InBandModel model(rb, static_cast<uint32_t>(seed) + most, capacity);
          const FaultSet faults =
              TakeDown(rb, model, seed, rows / 8 * (1 + static_cast<uint32_t>(seed) % 4));
          RouteTable routes(rb, WithoutCircuit::kDrop);
          const control::StandingReads standing{.faults = &faults};
          const auto routed = collision ? *control::RouteDataServerCollision(
                                              rb, requests, {.c = 5, .c_disk = 5}, standing)
                                        : *control::RouteDataServerMinimum(rb, requests, standing);
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
          ExpectBatch(rb, faults, capacity, routed.route.paths, report, model, routes, tally);
          std::vector<uint32_t> disks(rows);
          for (const InBandPath& path : report.paths) ++disks[path.output];
          EXPECT_EQ(model.at_disks(), disks);
        }
      }
    }
  }
  EXPECT_GT(tally.down, 10);
  EXPECT_GT(tally.set_up, 10);
}

// Circuits come and go, and links go down and come back. A request gets the protocol's choice, the
// other path if that one is down or full, or a refusal that names the link of the first choice.
// Where the first choice crosses a link that is down and the other path is whole but full, that
// one's link is named.
TEST(InBandFaults, SingleRequestsChooseAsTheControllerDoesWhileLinksGoDownAndComeBack) {
  int down = 0, full = 0, gave_way = 0, whole_but_full = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const uint32_t rows = 8u << (seed % 3);
    const Network network = NetworkToBreak(NetworkKind::kTwoFoldButterfly, rows, seed);
    const LinkCapacity capacity{.every_link = static_cast<uint32_t>(seed % 2), .of_link = {}};
    InBandModel model(network, static_cast<uint32_t>(seed), capacity);
    FaultSet faults(network);
    RouteTable routes(network, WithoutCircuit::kDrop);
    LinkLoad load(network);
    std::vector<bool> output_busy(rows);
    std::vector<std::optional<Tag>> held(rows);
    std::mt19937 random(static_cast<uint32_t>(seed));
    const int d = network.dimension();
    for (int step = 0; step < 400; ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", step " << step);
      if (random() % 4 == 0) {
        const LinkId link = network.link_at(random() % network.link_count());
        const bool up = faults.is_down(link) || faults.down_links().size() > rows / 2;
        const LinkId which = up && !faults.is_down(link) ? faults.down_links().front() : link;
        faults.SetLinkUp(which, up);
        model.SetLinkUp(which, up);
        continue;
      }
      const Row input = random() % rows;
      if (held[input].has_value()) {
        // Also one that is broken.
        SetGivenCircuits release({.release = {{input, *held[input]}}, .install = {}}, &routes);
        model.Run(release);
        load.Remove(input, *held[input]);
        output_busy[OutputOfTag(network, *held[input])] = false;
        held[input].reset();
      } else {
        const Row output = random() % rows;
        if (output_busy[output]) continue;
        const Candidates candidates = CandidatesOf(model.candidates(), {{input, output}})[0];
        const auto cost = [&](Tag tag) {
          const int h = d / 2;
          return load.MaxOnHops(WalkTag(network, input, tag)[h], tag, h, d + h);
        };
        const auto refused = [&](Tag tag) {
          return Refused(faults, capacity, load, 0, input, tag);
        };
        const bool second = cost(candidates.tags[1]) < cost(candidates.tags[0]);
        Tag chosen = candidates.tags[second];
        const Tag other = candidates.tags[!second];
        const std::optional<InBandRefusal> first = refused(chosen), last = refused(other);
        if (first.has_value() && !last.has_value()) {
          chosen = other;
          ++gave_way;
        } else if (first.has_value() && first->down && !last->down) {
          chosen = other;
          ++whole_but_full;
        }
        Minimum run({candidates}, {.other_if_full = true}, routes, /*limited=*/true);
        model.Run(run);
        const InBandReport report = run.Report(network, 1);
        const std::optional<InBandRefusal> wanted = refused(chosen);
        ExpectRefusal(report.refusal, wanted);
        if (wanted.has_value()) {
          EXPECT_EQ(routes.circuit(input), 0u);
          ++(wanted->down ? down : full);
        } else {
          ASSERT_EQ(report.paths.at(0).tag, chosen);
          held[input] = chosen;
          output_busy[output] = true;
          load.Add(input, chosen);
        }
      }
      ASSERT_EQ(model.circuits(), load.counts());
    }
  }
  EXPECT_GT(down, 20);
  EXPECT_GT(full, 5);
  EXPECT_GT(gave_way, 20);
  EXPECT_GT(whole_but_full, 10);
}

}  // namespace
}  // namespace bfly::dataplane
