// SPDX-License-Identifier: Apache-2.0
// What the page's server keeps when the controller does not answer, and the pages of its lists.
#include <gmock/gmock.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <set>

#include "control/web/fabric_watch.h"
#include "control/web/web_routes.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

class WebWatchTest : public testing::Test {
 protected:
  void Start(const v1::Topology& topology) {
    dp0_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    controller_ = std::make_unique<TestController>(directory_.path());
    ASSERT_TRUE(Load(*controller_, topology).ok());
    Watch();
  }
  // Another controller's page would begin like this.
  void Watch(milliseconds interval = milliseconds(20)) {
    routes_ = nullptr;
    watch_ = std::make_unique<FabricWatch>(calls_,
                                           FabricWatch::Options{.interval = interval,
                                                                .attention = milliseconds(600'000),
                                                                .patience = milliseconds(20'000),
                                                                .most_links = most_links_});
    routes_ = std::make_unique<WebRoutes>(WebDoor("", "127.0.0.1:7390"), *watch_, calls_, calls_);
  }
  HttpResponse Get(const std::string& path, std::map<std::string, std::string> query = {}) {
    HttpRequest request;
    request.method = "GET";
    request.host = "localhost";
    request.path = path;
    for (auto& [name, value] : query) request.query[name] = value;
    return routes_->Answer(request);
  }

  FakeBoard board_;
  TemporaryFolder directory_;
  std::unique_ptr<TestAgent> dp0_;
  std::unique_ptr<TestController> controller_;
  std::atomic<bool> is_away_ = false;
  FabricCalls calls_{[this]() -> std::shared_ptr<grpc::Channel> {
    if (is_away_) return nullptr;
    return grpc::CreateChannel(SocketAddress(directory_.path(), "controller"),
                               grpc::InsecureChannelCredentials());
  }};
  uint64_t most_links_ = Wiring::kMostLinks;
  std::unique_ptr<FabricWatch> watch_;
  std::unique_ptr<WebRoutes> routes_;
};

TEST(WebHistory, HoldsTenMinutesOfAClockThatNobodySets) {
  constexpr int64_t kSecond = 1'000'000'000;
  std::deque<FabricMoment> moments;
  for (int64_t i = 0; i < 1000; ++i) {  // the wall clock is set back by an hour in the middle
    AddMoment(
        {.time_ns = (i < 900 ? i * 3 : i * 3 - 3600) * kSecond, .monotonic_ns = i * 3 * kSecond},
        moments);
  }
  EXPECT_EQ(moments.size(), 201u);
  EXPECT_EQ(moments.front().monotonic_ns, 799 * 3 * kSecond);
  for (int64_t i = 0; i < 5000; ++i) {
    AddMoment({.monotonic_ns = 3000 * kSecond + i * kSecond / 100}, moments);
  }
  EXPECT_EQ(moments.size(), 600u);
}

TEST_F(WebWatchTest, APassingErrorIsAProblemAndTheLastFiguresStay) {
  Start(SmallTopology());
  ASSERT_EQ(Get("/api/load").status, 200u);
  is_away_ = true;
  controller_.reset();
  const auto problems = [&] {
    return json::parse(Get("/api/topology").body).value("problems", json::array()).dump();
  };
  ASSERT_TRUE(
      Eventually([&] { return problems().find("reading them fails") != std::string::npos; }));
  for (const char* path : {"/api/topology", "/api/load", "/api/links", "/api/history"})
    EXPECT_EQ(Get(path).status, 200u) << path;
  // Further failures do not add up.
  EXPECT_EQ(json::parse(Get("/api/topology").body)["problems"].size(), 1u);
  controller_ = std::make_unique<TestController>(directory_.path());
  is_away_ = false;
  EXPECT_TRUE(Eventually([&] { return problems() == "[]"; }));
  // Without a fabric there is nothing to keep.
  ASSERT_TRUE(
      Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).status().ok());
  EXPECT_TRUE(Eventually([&] { return Get("/api/topology").status == 409; }));
  EXPECT_THAT(Get("/api/load").status, 409u);
}

TEST_F(WebWatchTest, FabricsOfTwoControllersHaveTwoNumbers) {
  Start(SmallTopology());
  const auto fabric = [&] {
    return json::parse(Get("/api/topology").body).value("fabric", uint64_t{0});
  };
  const uint64_t first = fabric();
  EXPECT_EQ(fabric(), first);
  Watch();
  EXPECT_NE(fabric(), first);
  // JavaScript has them exactly.
  for (const uint64_t number : {first, fabric()}) EXPECT_LT(number, uint64_t{1} << 53);
}

// The next reading would come in ten minutes.
TEST_F(WebWatchTest, ARecordingHasTheNumberOfTheFabricThatItIsOf) {
  Start(SmallTopology());
  Watch(milliseconds(600'000));
  const auto fabric = [&] {
    return json::parse(Get("/api/topology").body).value("fabric", uint64_t{0});
  };
  const uint64_t first = fabric();
  ASSERT_TRUE(Load(*controller_, RandomlyWired(32), /*replace=*/true).ok());
  HttpResponse answer = Get("/api/program", {{"program", "greedy"}});
  EXPECT_EQ(answer.status, 409u) << answer.body;
  EXPECT_THAT(answer.body, testing::HasSubstr("another fabric was loaded meanwhile"));
  // The refusal makes the next reading come at once.
  ASSERT_TRUE(Eventually([&] {
    answer = Get("/api/program", {{"program", "greedy"}});
    return answer.status == 200;
  })) << answer.body;
  const json recording = json::parse(answer.body);
  EXPECT_NE(recording["fabric"], first);
  EXPECT_EQ(recording["fabric"], fabric());
}

// More than kFullest links carry packets, and another one dropped some.
TEST_F(WebWatchTest, LinksOfALargeNetworkAreChosenByTheFigureThatIsAskedFor) {
  constexpr uint32_t kRows = 512, kStages = 9;
  most_links_ = kRows * kStages * 2 - 1;
  static_assert(kRows * kStages * 2 > FabricWatch::kFullest + 10);
  {
    const std::lock_guard lock(board_.mutex);
    std::vector<dataplane::LinkCounters>& links = board_.figures["dp0"].links;
    links.resize(kRows * kStages * 2);
    for (size_t i = 0; i < FabricWatch::kFullest + 10; ++i) links[i].packets = 1 + i;
    links.back().drops[0] = 3;
  }
  Start(RandomlyWired(kRows));
  EXPECT_EQ(json::parse(Get("/api/topology").body)["every_link"], false);
  const auto hottest = [&](const char* by) {
    const json load = json::parse(Get("/api/load", {{"by", by}}).body);
    EXPECT_EQ(load["every_link"], false);
    return load["hottest"]["rows"];
  };
  // Asked for in turns, as by two pages.
  for (int turn = 0; turn < 2; ++turn) {
    const json drops = hottest("drops");
    ASSERT_EQ(drops.size(), 1u);
    EXPECT_EQ((std::vector<uint32_t>{drops[0][0], drops[0][1], drops[0][2], drops[0][6]}),
              (std::vector<uint32_t>{kStages - 1, kRows - 1, 1, 3}));
    const json packets = hottest("packets");
    ASSERT_EQ(packets.size(), 10u);
    EXPECT_EQ(packets[0][4], FabricWatch::kFullest + 10);
  }
}

// 256 circuits touch row 5: 255 lead to it, and one from it leads there too, or elsewhere.
TEST_F(WebWatchTest, EveryPageOfTheCircuitsAtARowHasTheTotal) {
  Start(RandomlyWired(256));
  // Many users may read the same disk, each an object of its own.
  v1::PlaceRequest place;
  for (uint32_t user = 0; user < 256; ++user) {
    v1::PlacedObject& object = *place.add_objects();
    object.set_object(user);
    object.add_disks(5);
  }
  ASSERT_TRUE(Call(*controller_->data_server, &v1::DataServer::Stub::Place, place).ok());
  for (uint32_t user = 0; user < 256; ++user) {
    v1::ObjectRequest read;
    read.set_user(user);
    read.set_object(user);
    const auto asked = Call(*controller_->data_server, &v1::DataServer::Stub::Request, read);
    ASSERT_TRUE(asked.ok()) << asked.status();
  }
  for (const bool to_itself : {true, false}) {
    if (!to_itself) {
      v1::ReleaseObjectRequest release;
      release.set_user(5);
      ASSERT_TRUE(Call(*controller_->data_server, &v1::DataServer::Stub::Release, release).ok());
      ASSERT_TRUE(SetUpCircuit(*controller_, 5, 9).ok());
    }
    std::multiset<uint32_t> inputs;
    std::string token;
    int pages = 0;
    do {
      const json page =
          json::parse(Get("/api/circuits", {{"find", "5"}, {"page_token", token}}).body);
      EXPECT_EQ(page["total"], 256) << page.dump();
      for (const json& circuit : page["circuits"]) inputs.insert(circuit["input"].get<uint32_t>());
      token = page["next_page_token"].get<std::string>();
      ++pages;
    } while (!token.empty() && pages < 10);
    EXPECT_EQ(pages, 2);
    EXPECT_EQ(inputs.size(), 256u);
    EXPECT_EQ(std::set<uint32_t>(inputs.begin(), inputs.end()).size(), 256u) << "each of them once";
  }
}

}  // namespace
}  // namespace bfly::control
