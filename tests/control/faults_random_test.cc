// SPDX-License-Identifier: Apache-2.0
// Set-ups, releases, moves, links and nodes that go down and come back and controllers that
// restart, in random order: after each step everything that is told about circuits equals what a
// plain model of edges and walks counts.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

#include "tests/control/faults_fixture.h"
#include "tests/property/paper.h"

namespace bfly::control {
namespace {

using Edge = std::array<Row, 3>;  // level, row, next row
using Walk = std::vector<Row>;

// The expected state. The model knows edges by their two ends, and does not know tags, ports or
// counts.
class Model {
 public:
  Model()
      : network_(*Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 16, .seed = 7})),
        settings_(*SwitchSettings::Make(network_)) {}

  const Network& network() const { return network_; }
  std::set<Edge> down;
  std::set<std::array<Row, 2>> nodes_down;  // level, row
  struct Circuit {
    uint64_t id = 0;
    Row output = 0;
    Walk walk;
  };
  std::map<Row, Circuit> standing;

  Edge EdgeOf(const LinkId& link) const {
    return {static_cast<Row>(link.stage), link.row,
            network_.next_row(link.stage, link.row, link.port)};
  }
  std::vector<Edge> BrokenAt(const Walk& walk) const {
    std::vector<Edge> edges;
    for (Row level = 0; level + 1 < walk.size(); ++level) {
      const Edge edge{level, walk[level], walk[level + 1]};
      const bool dark = nodes_down.count({level, walk[level]}) != 0 ||
                        nodes_down.count({level + 1, walk[level + 1]}) != 0;
      if (dark || down.count(edge) != 0) edges.push_back(edge);
    }
    return edges;
  }
  bool IsWhole(const Walk& walk) const { return BrokenAt(walk).empty(); }
  // The candidate paths that cross no edge that is down.
  std::vector<Walk> WholePaths(Row input, Row output) const {
    std::vector<Walk> whole;
    for (const int which : {0, 1}) {
      Walk walk = paper::CandidatePath(settings_, 4, input, output, which);
      if (IsWhole(walk)) whole.push_back(std::move(walk));
    }
    return whole;
  }
  bool IsOutputFree(Row output) const {
    for (const auto& [input, circuit] : standing) {
      if (circuit.output == output) return false;
    }
    return true;
  }

 private:
  const Network network_;
  const SwitchSettings settings_;
};

class FaultsRandomTest : public FaultsTest {
 protected:
  void Run(v1::CircuitPolicy::OnFailure on_failure, uint32_t seed) {
    StartWith(on_failure);
    on_failure_ = on_failure;
    random_.seed(seed);
    for (int step = 0; step < 400; ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", step " << step);
      Act();
      ExpectModel();
      if (step % 10 == 0) ExpectCountsEqualRecount(*controller_, agent_.get());
      if (HasFailure()) return;
    }
    EXPECT_GT(unavailable_, 3);
    EXPECT_GT(moved_, 10);
  }

 private:
  Row Draw(uint32_t n) { return static_cast<Row>(random_() % n); }

  void Act() {
    const uint32_t what = Draw(20);
    if (what < 7) return SetUpOne();
    if (what < 9) return ReleaseOne();
    if (what < 13) return MoveOne();
    if (what < 17) return SetOneLink();
    if (what < 19) return SetOneNode();
    controller_.reset();
    controller_ = std::make_unique<TestController>(directory_.path(), 20);
    EXPECT_TRUE(Eventually([&] {
      return controller_->controller().all_usable() &&
             List(*controller_).size() == model_.standing.size();
    }));
  }

  void SetUpOne() {
    const Row input = Draw(16), output = Draw(16);
    if (model_.standing.count(input) != 0 || !model_.IsOutputFree(output)) return;
    const auto response = SetUpCircuit(*controller_, input, output);
    const std::vector<Walk> whole = model_.WholePaths(input, output);
    if (whole.empty()) {
      EXPECT_EQ(response.status().code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(FieldsOf(response.status()), testing::ElementsAre("link"));
      ++unavailable_;
      return;
    }
    ASSERT_TRUE(response.ok()) << response.status();
    const Walk walk(response->circuit().rows().begin(), response->circuit().rows().end());
    EXPECT_THAT(whole, testing::Contains(walk));
    model_.standing[input] = {response->circuit().id(), output, walk};
  }

  void ReleaseOne() {
    const auto circuit = model_.standing.find(Draw(16));
    if (circuit == model_.standing.end()) return;
    EXPECT_TRUE(ReleaseCircuit(*controller_, circuit->second.id).ok());
    model_.standing.erase(circuit);
  }

  void MoveOne() {
    const auto found = model_.standing.find(Draw(16));
    if (found == model_.standing.end()) return;
    auto& [input, circuit] = *found;
    v1::MoveRequest request;
    request.set_id(circuit.id);
    if (Draw(2) == 0) request.set_input(input);
    const auto moved = Move(request);
    const std::vector<Walk> whole = model_.WholePaths(input, circuit.output);
    if (whole.empty()) {
      EXPECT_EQ(moved.status().code(), absl::StatusCode::kUnavailable);
      ++unavailable_;
      return;
    }
    ASSERT_TRUE(moved.ok()) << moved.status();
    EXPECT_EQ(moved->id(), circuit.id);
    circuit.walk = {moved->rows().begin(), moved->rows().end()};
    EXPECT_THAT(whole, testing::Contains(circuit.walk));
    ++moved_;
  }

  void SetOneLink() {
    const Network& network = model_.network();
    LinkId link = network.link_at(random_() % network.link_count());
    // Prefers a link that carries circuits, and brings links back when many are down.
    if (!model_.standing.empty() && Draw(3) != 0) {
      const Walk& walk = model_.standing.begin()->second.walk;
      const int stage = static_cast<int>(Draw(8));
      link = {stage, walk[stage], 0};
      if (network.next_row(stage, link.row, 0) != walk[stage + 1]) link.port = 1;
    }
    bool up = false;
    if (down_.size() > 24 || (!down_.empty() && Draw(4) == 0)) {
      link = down_[Draw(static_cast<uint32_t>(down_.size()))];
      up = true;
    }
    v1::LinkRef ref;
    ref.set_stage(static_cast<uint32_t>(link.stage));
    ref.set_row(link.row);
    ref.set_port(static_cast<uint32_t>(link.port));
    ASSERT_TRUE(SetLink(ref, up).ok());
    if (up) {
      down_.erase(std::find(down_.begin(), down_.end(), link));
      model_.down.erase(model_.EdgeOf(link));
    } else if (model_.down.insert(model_.EdgeOf(link)).second) {
      down_.push_back(link);
    }
    DealWithBroken();
  }

  void SetOneNode() {
    std::array<Row, 2> node = {Draw(9), Draw(16)};
    if (!model_.standing.empty() && Draw(2) == 0) {
      node[1] = model_.standing.begin()->second.walk[node[0]];
    }
    const bool up = model_.nodes_down.size() > 2 || (!model_.nodes_down.empty() && Draw(3) == 0);
    if (up) node = *std::next(model_.nodes_down.begin(), Draw(model_.nodes_down.size()));
    ASSERT_TRUE(SetNode(*controller_, node[0], node[1], up).ok());
    if (up) {
      model_.nodes_down.erase(node);
    } else {
      model_.nodes_down.insert(node);
    }
    DealWithBroken();
  }

  void DealWithBroken() {
    if (on_failure_ == v1::CircuitPolicy::RELEASE) {
      std::erase_if(model_.standing,
                    [&](const auto& entry) { return !model_.IsWhole(entry.second.walk); });
    }
    if (on_failure_ != v1::CircuitPolicy::REPAIR) return;
    for (const v1::Circuit& listed : List(*controller_)) {
      Model::Circuit& circuit = model_.standing.at(listed.input());
      if (model_.IsWhole(circuit.walk)) continue;
      const std::vector<Walk> whole = model_.WholePaths(listed.input(), circuit.output);
      if (whole.empty()) continue;
      const Walk walk(listed.rows().begin(), listed.rows().end());
      EXPECT_THAT(whole, testing::Contains(walk));
      circuit.walk = walk;
      ++moved_;
    }
  }

  // Compares lists, both filters, status and telemetry.
  void ExpectModel() {
    const std::vector<v1::Circuit> listed = List(*controller_);
    ASSERT_EQ(listed.size(), model_.standing.size());
    uint64_t broken = 0;
    auto circuit = model_.standing.begin();
    for (const v1::Circuit& one : listed) {
      const auto& [input, wanted] = *circuit++;
      ASSERT_EQ(one.input(), input);
      EXPECT_EQ(one.id(), wanted.id);
      EXPECT_EQ(one.output(), wanted.output);
      EXPECT_EQ(Walk(one.rows().begin(), one.rows().end()), wanted.walk);
      std::vector<Edge> at;
      for (const v1::LinkRef& link : one.broken()) {
        at.push_back(model_.EdgeOf(
            {static_cast<int>(link.stage()), link.row(), static_cast<int>(link.port())}));
      }
      EXPECT_EQ(at, model_.BrokenAt(wanted.walk));
      broken += !at.empty();
    }
    EXPECT_EQ(Broken(true).size(), broken);
    EXPECT_EQ(Broken(false).size(), listed.size() - broken);
    EXPECT_EQ(StatusOf(*controller_).broken_circuits(), broken);
    EXPECT_EQ(BrokenInTelemetry(), broken);
  }

  Model model_;
  v1::CircuitPolicy::OnFailure on_failure_ = v1::CircuitPolicy::KEEP;
  std::vector<LinkId> down_;
  std::mt19937 random_;
  int unavailable_ = 0;
  int moved_ = 0;
};

TEST_F(FaultsRandomTest, EverybodyCountsTheSameWhileBrokenCircuitsAreKept) {
  Run(v1::CircuitPolicy::KEEP, 1);
}
TEST_F(FaultsRandomTest, EverybodyCountsTheSameWhileBrokenCircuitsAreRepaired) {
  Run(v1::CircuitPolicy::REPAIR, 2);
}
TEST_F(FaultsRandomTest, EverybodyCountsTheSameWhileBrokenCircuitsAreReleased) {
  Run(v1::CircuitPolicy::RELEASE, 3);
}

}  // namespace
}  // namespace bfly::control
