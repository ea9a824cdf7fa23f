// SPDX-License-Identifier: Apache-2.0
// What the web page is told, against sums by hand and a plain recount, and who may ask for what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <random>
#include <tuple>

#include "control/web/answers.h"
#include "control/web/http.h"
#include "control/web/link_sample.h"
#include "control/web/page_files.h"
#include "control/web/web_door.h"
#include "control/web/web_page.h"
#include "tests/temporary_folder.h"
#include "topologies/network.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A butterfly of 4 rows: 2 stages of 8 links. Stage 0 changes the first bit of the row, stage 1 the
// last one, and port p leads to the row whose bit is p.
v1::DescribeResponse FourRows() {
  v1::DescribeResponse description;
  description.set_rows(4);
  description.set_stages(2);
  description.set_levels(3);
  description.set_multiplicity(1);
  description.set_link_count(16);
  for (uint32_t stage = 0; stage < 2; ++stage) {
    for (uint32_t row = 0; row < 4; ++row) {
      for (uint32_t port = 0; port < 2; ++port) {
        v1::LinkEnds* link = description.add_links();
        link->set_stage(stage);
        link->set_row(row);
        link->set_port(port);
        link->set_next_row(stage == 0 ? (row & 1) | port << 1 : (row & 2) | port);
      }
    }
  }
  return description;
}

std::shared_ptr<const Wiring> FourWired() {
  return std::make_shared<const Wiring>(*WiringOf(FourRows()));
}

v1::LinkCounters* Add(v1::Counters& counters, uint32_t stage, uint32_t row, uint32_t port,
                      uint64_t packets) {
  v1::LinkCounters* link = counters.add_links();
  link->set_stage(stage);
  link->set_row(row);
  link->set_port(port);
  link->set_packets(packets);
  link->set_bytes(100 * packets);
  return link;
}

std::tuple<uint32_t, uint32_t, uint32_t> Place(const SampledLink& link) {
  return {link.stage, link.row, link.port};
}

TEST(SampledLink, RatesAreDifferencesOverTime) {
  v1::Counters first, second;
  first.set_monotonic_ns(1'000'000'000);
  second.set_monotonic_ns(3'000'000'000);
  Add(first, 0, 1, 1, 100);
  v1::LinkCounters* link = Add(second, 0, 1, 1, 500);
  link->add_drops()->set_packets(3);
  link->add_drops()->set_packets(4);
  Add(second, 1, 3, 0, 50);  // had nothing before
  const Counts before = CountsOf(first, /*every_link=*/true);
  const FabricSample sample = SampleOf(FourWired(), second, {}, &before);
  ASSERT_THAT(sample.links, SizeIs(16));
  const SampledLink& found = sample.links[1 * 2 + 1];
  EXPECT_EQ(Place(found), std::tuple(0u, 1u, 1u));
  EXPECT_EQ(found.next_row, 3u);
  EXPECT_DOUBLE_EQ(found.packet_rate, 200);
  EXPECT_DOUBLE_EQ(found.byte_rate, 20'000);
  EXPECT_EQ(found.drops, 7u);
  EXPECT_DOUBLE_EQ(found.drop_rate, 3.5);
  EXPECT_DOUBLE_EQ(sample.links[8 + 3 * 2].packet_rate, 25);
  // The first sample has no rates.
  EXPECT_DOUBLE_EQ(SampleOf(FourWired(), first, {}, nullptr).links[3].packet_rate, 0);
}

TEST(SampledLink, ALinkIsDownByItselfOrWithANodeAtEitherEnd) {
  v1::GetLinksResponse down;
  v1::LinkRef* link = down.add_down();
  link->set_stage(0);
  link->set_row(2);
  link->set_port(1);
  v1::NodeRef* node = down.add_down_nodes();
  node->set_level(1);
  node->set_row(0);
  const FabricSample sample = SampleOf(FourWired(), {}, down, nullptr);
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> found;
  for (const SampledLink& one : sample.links)
    if (one.down) found.push_back(Place(one));
  // Into node (1, 0): from rows 0 and 2 by port 0. Out of it: both ports.
  EXPECT_THAT(found,
              ElementsAre(std::tuple(0u, 0u, 0u), std::tuple(0u, 2u, 0u), std::tuple(0u, 2u, 1u),
                          std::tuple(1u, 0u, 0u), std::tuple(1u, 0u, 1u)));
}

TEST(SampledLink, TheLastLevelOfAWrappedNetworkIsItsFirst) {
  v1::DescribeResponse description = FourRows();
  description.set_levels(2);
  v1::GetLinksResponse down;
  down.add_down_nodes()->set_row(3);  // of level 0
  const auto wiring = std::make_shared<const Wiring>(*WiringOf(description));
  const FabricSample sample = SampleOf(wiring, {}, down, nullptr);
  EXPECT_EQ(std::count_if(sample.links.begin(), sample.links.end(),
                          [](const SampledLink& link) { return link.down; }),
            4);  // two leave it, two of the last stage enter it
}

TEST(SampledLink, BandsAddUpTheirLinks) {
  v1::Counters counters;
  Add(counters, 0, 0, 1, 10)->set_circuits(1);
  Add(counters, 0, 1, 1, 30)->set_circuits(4);
  Add(counters, 0, 1, 0, 5);
  const FabricSample sample = SampleOf(FourWired(), counters, {}, nullptr);
  const std::vector<BandLink> bands = Bands(sample, 2);
  // Stage 0 joins every band with both, stage 1 stays inside a band.
  ASSERT_THAT(bands, SizeIs(6));
  EXPECT_EQ(bands[1].from, 0u);
  EXPECT_EQ(bands[1].to, 1u);
  EXPECT_EQ(bands[1].links, 2u);
  EXPECT_EQ(bands[1].packets, 40u);
  EXPECT_EQ(bands[1].circuits, 5u);
  EXPECT_EQ(bands[1].most_circuits, 4u);
  EXPECT_EQ(bands[0].packets, 5u);
  EXPECT_EQ(StageLoads(sample)[0].packets, 45u);
  EXPECT_EQ(StageLoads(sample)[1].packets, 0u);
}

// A plain recount, over numbers of bands that do not divide the rows too.
TEST(SampledLink, BandsOfRandomLoadsEqualARecount) {
  std::mt19937 random(7);
  v1::Counters counters;
  for (uint32_t stage = 0; stage < 2; ++stage)
    for (uint32_t row = 0; row < 4; ++row)
      for (uint32_t port = 0; port < 2; ++port) Add(counters, stage, row, port, random() % 1000);
  const FabricSample sample = SampleOf(FourWired(), counters, {}, nullptr);
  for (const uint32_t bands : {1u, 2u, 3u, 4u}) {
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> expected;
    int i = 0;
    const v1::DescribeResponse network = FourRows();
    for (const v1::LinkEnds& link : network.links()) {
      expected[{link.stage(), link.row() * bands / 4, link.next_row() * bands / 4}] +=
          counters.links(i++).packets();
    }
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> found;
    for (const BandLink& band : Bands(sample, bands))
      found[{band.stage, band.from, band.to}] = band.packets;
    EXPECT_EQ(found, expected) << bands;
  }
}

TEST(SampledLink, HottestComeInOrderAndTiesByPlace) {
  v1::Counters counters;
  Add(counters, 1, 2, 0, 7);
  Add(counters, 0, 3, 1, 9);
  Add(counters, 0, 1, 0, 7);
  const FabricSample sample = SampleOf(FourWired(), counters, {}, nullptr);
  const auto hottest = Hottest(sample, LinkFigure::kPackets, 10);
  ASSERT_THAT(hottest, SizeIs(3));  // links without packets are not hot
  EXPECT_EQ(Place(hottest[0]), std::tuple(0u, 3u, 1u));
  EXPECT_EQ(Place(hottest[1]), std::tuple(0u, 1u, 0u));
  EXPECT_EQ(Place(hottest[2]), std::tuple(1u, 2u, 0u));
  EXPECT_THAT(Hottest(sample, LinkFigure::kPackets, 1), SizeIs(1));
  EXPECT_THAT(Hottest(sample, LinkFigure::kDrops, 10), IsEmpty());
}

TEST(SampledLink, TheHottestByBytesAreNotThoseByPackets) {
  FabricSample sample;
  sample.links = {{.packet_rate = 9, .byte_rate = 600}, {.packet_rate = 1, .byte_rate = 9000}};
  EXPECT_EQ(Hottest(sample, LinkFigure::kPacketRate, 1)[0].packet_rate, 9);
  EXPECT_EQ(Hottest(sample, LinkFigure::kByteRate, 1)[0].packet_rate, 1);
}

TEST(SampledLink, AWindowHasTheLinksThatLeaveOrEnterItsRows) {
  const FabricSample sample = SampleOf(FourWired(), {}, {}, nullptr);
  const auto links =
      LinksIn(sample, {.first_row = 0, .last_row = 0, .first_stage = 0, .last_stage = 1});
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> places;
  for (const SampledLink& link : links) places.push_back(Place(link));
  EXPECT_THAT(places,
              ElementsAre(std::tuple(0u, 0u, 0u), std::tuple(0u, 0u, 1u), std::tuple(0u, 2u, 0u),
                          std::tuple(1u, 0u, 0u), std::tuple(1u, 0u, 1u), std::tuple(1u, 1u, 0u)));
}

TEST(SampledLink, LinksOutsideOfTheNetworkAreRefusedOrLeftOut) {
  v1::DescribeResponse description = FourRows();
  description.mutable_links(3)->set_next_row(4);
  EXPECT_THAT(WiringOf(description).status().message(), HasSubstr("0.1.1 is outside"));
  v1::Counters counters;
  Add(counters, 2, 0, 0, 5);
  Add(counters, 0, 4, 0, 5);
  Add(counters, 0, 0, 2, 5);
  EXPECT_EQ(StageLoads(SampleOf(FourWired(), counters, {}, nullptr))[0].packets, 0u);
}

TEST(SampledLink, OfALargeNetworkOnlyCountedLinksAreKnown) {
  v1::DescribeResponse description;
  description.set_rows(65'536);
  description.set_stages(16);
  description.set_levels(17);
  const auto wiring = std::make_shared<const Wiring>(*WiringOf(description));
  EXPECT_THAT(wiring->next_rows, IsEmpty());
  v1::Counters counters;
  Add(counters, 3, 70, 1, 20)->set_next_row(90);
  Add(counters, 3, 60, 1, 10)->set_next_row(60);
  const FabricSample sample = SampleOf(wiring, counters, {}, nullptr);
  EXPECT_FALSE(sample.every_link());
  ASSERT_THAT(sample.links, SizeIs(2));
  EXPECT_EQ(sample.links[0].row, 60u);
  EXPECT_EQ(sample.links[1].next_row, 90u);
  ASSERT_THAT(Bands(sample, 64), SizeIs(1));
  EXPECT_EQ(Bands(sample, 64)[0].packets, 30u);
}

TEST(WebAnswers, ColumnsNameTheNumbersOfEveryRow) {
  v1::Counters counters;
  Add(counters, 0, 1, 1, 5);
  const auto answer =
      LoadAnswer(SampleOf(FourWired(), counters, {}, nullptr), 2, LinkFigure::kPackets, 5);
  for (const char* table : {"stages", "links", "hottest"}) {
    ASSERT_GT(answer[table]["rows"].size(), 0u) << table;
    for (const auto& row : answer[table]["rows"])
      EXPECT_EQ(row.size(), answer[table]["columns"].size()) << table;
  }
  EXPECT_EQ(answer["hottest"]["rows"][0][4], 5);
  EXPECT_EQ(answer["hottest"]["columns"][4], "packets");
}

TEST(WebAnswers, APortHasWhatItLost) {
  FabricWatch::Known known;
  known.ports.push_back({.rx_packets = 100.0004});
  v1::PortCounters* port = known.counters.add_ports();
  port->set_name("h0");
  port->set_rx_packets(60);
  port->set_rx_missed(2);
  v1::DropCount* drop = port->add_drops();
  drop->set_reason("malformed");
  drop->set_packets(5);
  const auto answer = PortsAnswer(known)["ports"][0];
  EXPECT_EQ(answer["lost"], 7);
  EXPECT_EQ(answer["drops"]["malformed"], 5);
  EXPECT_EQ(answer["rx_rate"], 100);
}

TEST(WebAnswers, AMomentHasTheAccountAndItsRates) {
  v1::Counters first, second;
  first.set_monotonic_ns(1'000'000'000);
  second.set_monotonic_ns(1'500'000'000);
  first.mutable_conservation()->set_injected(100);
  second.mutable_conservation()->set_injected(150);
  second.mutable_conservation()->set_dropped(10);
  const Counts before = CountsOf(first, /*every_link=*/false);
  const FabricMoment moment = MomentOf(second, CounterRates(second, &before).account());
  EXPECT_DOUBLE_EQ(moment.injected_rate, 100);
  EXPECT_DOUBLE_EQ(moment.drop_rate, 20);
  EXPECT_EQ(moment.injected, 150u);
}

TEST(Http, TargetsAreSplitAndDecoded) {
  HttpRequest request;
  EXPECT_TRUE(ReadTarget("/api/circuits?find=3-9&page_token=a%2Bb+c&find=x&empty", &request));
  EXPECT_EQ(request.path, "/api/circuits");
  EXPECT_EQ(request.query["find"], "3-9");
  EXPECT_EQ(request.query["page_token"], "a+b c");
  EXPECT_EQ(request.query["empty"], "");
  std::string many = "/?";
  for (int i = 0; i < 100; ++i) many += "n" + std::to_string(i) + "=1&";
  for (const std::string& wrong : {std::string(), std::string("api"), std::string("http://a/"),
                                   std::string("/?a=%4"), std::string("/?a=%zz"), many})
    EXPECT_FALSE(ReadTarget(wrong, &request)) << wrong;
}

HttpRequest Change() {
  HttpRequest request;
  request.method = "POST";
  request.path = "/api/link/fail";
  request.host = "127.0.0.1:7390";
  request.origin = "http://127.0.0.1:7390";
  request.authorization = "Bearer 0123456789abcdef";
  request.content_type = "application/json";
  return request;
}

unsigned RefusedWith(const HttpRequest& request) {
  const auto refused = WebDoor("0123456789abcdef", "127.0.0.1:7390").Refuse(request);
  return refused.has_value() ? refused->status : 0;
}

TEST(WebDoor, NamesOfOtherSitesAreRefused) {
  HttpRequest request;
  request.method = "GET";
  for (const char* good :
       {"127.0.0.1", "127.0.0.1:80", "localhost:7390", "LOCALHOST", "[::1]", "[::1]:7390"}) {
    request.host = good;
    EXPECT_EQ(RefusedWith(request), 0u) << good;
  }
  for (const char* bad :
       {"", "example.org", "example.org:7390", "localhost.example.org", "127.0.0.1.example.org",
        "127.0.0.1:x", "127.0.0.1:7390:80", "127.0.0.1:99999", "0.0.0.0", "::1", "a@localhost"}) {
    request.host = bad;
    EXPECT_EQ(RefusedWith(request), 421u) << bad;
  }
}

TEST(WebDoor, AChangeComesFromThisPageAsJsonWithTheToken) {
  EXPECT_EQ(RefusedWith(Change()), 0u);
  HttpRequest request = Change();
  request.origin = "";  // curl sends none
  EXPECT_EQ(RefusedWith(request), 0u);
  for (const char* origin :
       {"http://example.org", "null", "https://127.0.0.1:7390", "http://127.0.0.1:7391"}) {
    request = Change();
    request.origin = origin;
    EXPECT_EQ(RefusedWith(request), 403u) << origin;
  }
  request = Change();
  request.content_type = "text/plain";
  EXPECT_EQ(RefusedWith(request), 415u);
  for (const char* token : {"", "Bearer ", "Bearer 0123456789abcdeF", "Bearer 0123456789abcde",
                            "0123456789abcdef", "Basic 0123456789abcdef"}) {
    request = Change();
    request.authorization = token;
    EXPECT_EQ(RefusedWith(request), 403u) << token;
  }
  request = Change();
  request.method = "PUT";
  EXPECT_EQ(RefusedWith(request), 405u);
  // Without a token nobody may change anything.
  request = Change();
  request.authorization = "Bearer ";
  EXPECT_TRUE(WebDoor("", "127.0.0.1:7390").Refuse(request).has_value());
}

TEST(WebDoor, TheTokenIsANewFileOfItsOwner) {
  const TemporaryFolder folder;
  const std::string path = std::string(folder.path()) + "/web.token";
  std::ofstream(path) << "old\n";
  chmod(path.c_str(), 0644);
  std::string first;
  {
    const auto token = TokenFile::Write(folder.path());
    ASSERT_TRUE(token.ok()) << token.status();
    first = token->token();
    EXPECT_THAT(first, SizeIs(32));
    struct stat info {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    std::string line;
    std::ifstream in(path);
    std::getline(in, line);
    EXPECT_EQ(line, first);
  }
  struct stat info {};
  EXPECT_NE(stat(path.c_str(), &info), 0);
  EXPECT_NE(TokenFile::Write(folder.path())->token(), first);
}

TEST(WebPage, OnlyLoopbackIsServed) {
  EXPECT_EQ(*WebAddress("7390"), "127.0.0.1:7390");
  EXPECT_EQ(*WebAddress("[::1]:7390"), "[::1]:7390");
  EXPECT_EQ(*WebAddress("0"), "127.0.0.1:0");
  EXPECT_EQ(*WebAddress("127.0.0.1:0"), "127.0.0.1:0");
  EXPECT_THAT(WebAddress("0.0.0.0:7390").status().message(), HasSubstr("ssh -L"));
  for (const char* wrong : {"", "x", "localhost:7390", "127.0.0.1:99999", "127.0.0.1:"})
    EXPECT_FALSE(WebAddress(wrong).ok()) << wrong;
}

TEST(WebPage, ThePageNamesNothingOutside) {
  const PageFile* page = FindPageFile("/");
  ASSERT_NE(page, nullptr);
  EXPECT_THAT(page->text, HasSubstr("src=\"main.js\""));
  for (const char* name : {"/", "/main.js", "/style.css", "/draw.js", "/input.js"}) {
    const PageFile* file = FindPageFile(name);
    ASSERT_NE(file, nullptr) << name;
    EXPECT_EQ(file->text.find("//www"), std::string_view::npos);
    EXPECT_EQ(file->text.find("https://"), std::string_view::npos);
  }
  EXPECT_EQ(FindPageFile("/../meson.build"), nullptr);
}

}  // namespace
}  // namespace bfly::control
