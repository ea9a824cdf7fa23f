// SPDX-License-Identifier: Apache-2.0
// The web page's server over a real controller: its JSON against the controller's own answers,
// changes, and clients that send anything but a request.
#include "control/web/web_page.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A client that sends bytes as they are.
class RawClient {
 public:
  explicit RawClient(const std::string& url) {
    // "http://127.0.0.1:PORT/"
    const std::vector<std::string> parts = absl::StrSplit(url, absl::ByAnyChar(":/"));
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(parts[4], &port)) << url;
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  RawClient(const RawClient&) = delete;
  ~RawClient() { close(fd_); }

  void Send(const std::string& bytes) { send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void EndSending() { shutdown(fd_, SHUT_WR); }
  // Everything until the server closes the connection.
  std::string ReadAll() {
    std::string all;
    char bytes[4096];
    for (;;) {
      const ssize_t count = recv(fd_, bytes, sizeof(bytes), 0);
      if (count <= 0) return all;
      all.append(bytes, static_cast<size_t>(count));
    }
  }

 private:
  int fd_ = -1;
};

class WebPageTest : public testing::Test {
 protected:
  void Start(HttpServer::Options server = {}, bool loaded = true) {
    dp0_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    controller_ = std::make_unique<TestController>(directory_.path());
    if (loaded) {
      ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
    }
    const auto channel = [this] { return controller_->channel; };
    auto page = WebPage::Start({.address = "127.0.0.1:0",
                                .run_directory = directory_.path(),
                                .viewer = channel,
                                .changer = channel,
                                .server = server,
                                .watch = {.interval = milliseconds(20),
                                          .attention = milliseconds(10'000),
                                          .patience = milliseconds(20'000)}});
    ASSERT_TRUE(page.ok()) << page.status();
    page_ = *std::move(page);
  }
  std::string Send(const std::string& bytes) {
    RawClient client(page_->url());
    client.Send(bytes);
    return client.ReadAll();
  }
  std::string Get(const std::string& target, const std::string& headers = "") {
    return Send(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: localhost\r\n", headers,
                             "Connection: close\r\n\r\n"));
  }
  std::string Post(const std::string& target, const std::string& body, const std::string& token) {
    return Send(absl::StrCat("POST ", target, " HTTP/1.1\r\nHost: localhost\r\n",
                             "Content-Type: application/json\r\nAuthorization: Bearer ", token,
                             "\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n",
                             body));
  }
  static json Body(const std::string& answer) {
    const size_t end = answer.find("\r\n\r\n");
    return json::parse(end == std::string::npos ? "" : answer.substr(end + 4), nullptr, false);
  }
  std::string Token() const {
    std::ifstream in(page_->token_path());
    std::string token;
    std::getline(in, token);
    return token;
  }
  // What /api/links tells of a link: {column: number}.
  json LinkOf(uint32_t stage, uint32_t row, uint32_t port) {
    const json table = Body(Get("/api/links"))["links"];
    for (const json& numbers : table["rows"]) {
      if (numbers[0] != stage || numbers[1] != row || numbers[2] != port) continue;
      json link;
      for (size_t i = 0; i < numbers.size(); ++i)
        link[table["columns"][i].get<std::string>()] = numbers[i];
      return link;
    }
    return {};
  }

  FakeBoard board_;
  TemporaryFolder directory_;
  std::unique_ptr<TestAgent> dp0_;
  std::unique_ptr<TestController> controller_;
  std::unique_ptr<WebPage> page_;
};

TEST_F(WebPageTest, TheFiguresAreTheControllersFigures) {
  Start();
  {
    const std::lock_guard lock(board_.mutex);
    std::vector<dataplane::LinkCounters>& links = board_.figures["dp0"].links;
    links.resize(16 * 8 * 2);
    for (size_t i = 0; i < links.size(); ++i) links[i].packets = i * i % 97;
  }
  ASSERT_TRUE(SetUpCircuit(*controller_, 3, 9).ok());
  ASSERT_TRUE(Eventually([&] { return LinkOf(0, 0, 1).value("packets", 0) == 1; }));
  const auto counters =
      Call(*controller_->telemetry, &v1::Telemetry::Stub::GetCounters, v1::GetCountersRequest());
  ASSERT_TRUE(counters.ok());
  ASSERT_EQ(counters->links_size(), 16 * 8 * 2);
  const json told = Body(Get("/api/links"))["links"]["rows"];
  ASSERT_EQ(told.size(), 16u * 8 * 2);
  uint64_t packets_of_stage = 0, on_circuit = 0;
  for (const v1::LinkCounters& link : counters->links()) {
    const json& row = told[(link.stage() * 16 + link.row()) * 2 + link.port()];
    EXPECT_EQ(row[0], link.stage());
    EXPECT_EQ(row[1], link.row());
    EXPECT_EQ(row[2], link.port());
    EXPECT_EQ(row[3], link.next_row());
    EXPECT_EQ(row[4], link.packets());
    EXPECT_EQ(row[12], link.circuits());
    on_circuit += link.circuits();
    if (link.stage() == 5) packets_of_stage += link.packets();
  }
  EXPECT_EQ(on_circuit, 8u);
  const json load = Body(Get("/api/load?bands=4&by=packets&hottest=3"));
  EXPECT_EQ(load["stages"]["rows"][5][0], packets_of_stage);
  EXPECT_EQ(load["bands"], 4);
  EXPECT_EQ(load["hottest"]["rows"].size(), 3u);
  EXPECT_EQ(load["hottest"]["rows"][0][4], 96);
  const json circuits = Body(Get("/api/circuits?find=9"));
  ASSERT_EQ(circuits["circuits"].size(), 1u);
  EXPECT_EQ(circuits["circuits"][0]["rows"].size(), 9u);
  EXPECT_EQ(Body(Get("/api/circuits?find=9-3"))["circuits"].size(), 0u);
  EXPECT_EQ(Body(Get("/api/circuits?find=3-9"))["total"], 1);
  EXPECT_EQ(Body(Get("/api/topology"))["rows"], 16);
  ASSERT_TRUE(Eventually([&] { return Body(Get("/api/history"))["moments"]["rows"].size() > 1; }));
  EXPECT_TRUE(Body(Get("/api/ports"))["ports"].is_array());
}

TEST_F(WebPageTest, LinksAndNodesFailWithTheTokenAlone) {
  Start();
  const std::string link = R"({"stage":2,"row":5,"port":1})";
  EXPECT_THAT(Post("/api/link/fail", link, "wrong"), StartsWith("HTTP/1.1 403"));
  EXPECT_EQ(LinkOf(2, 5, 1)["down"], 0);
  EXPECT_THAT(Post("/api/link/fail", link, Token()), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(Eventually([&] { return LinkOf(2, 5, 1)["down"] == 1; }));
  EXPECT_EQ(LinkOf(2, 5, 0)["down"], 0);
  EXPECT_THAT(Post("/api/link/restore", link, Token()), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(Eventually([&] { return LinkOf(2, 5, 1)["down"] == 0; }));
  EXPECT_THAT(Post("/api/node/fail", R"({"level":3,"row":7})", Token()),
              StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(
      Eventually([&] { return LinkOf(3, 7, 0)["down"] == 1 && LinkOf(3, 7, 1)["down"] == 1; }));
  EXPECT_THAT(Post("/api/node/restore", R"({"level":3,"row":7})", Token()),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Get("/api/role", "Authorization: Bearer " + Token() + "\r\n"), HasSubstr("operator"));
  EXPECT_THAT(Get("/api/role"), HasSubstr("viewer"));
}

TEST_F(WebPageTest, AWrongRequestIsToldWhatIsWrong) {
  Start();
  const auto error = [](const std::string& answer) { return Body(answer).value("error", answer); };
  EXPECT_THAT(error(Get("/api/load?bands=65")), HasSubstr("bands: 65 is outside 1..64"));
  EXPECT_THAT(error(Get("/api/load?bands=x")), HasSubstr("\"x\" is not a whole number"));
  EXPECT_THAT(error(Get("/api/load?by=heat")), HasSubstr("use rate, bytes, packets"));
  EXPECT_THAT(error(Get("/api/links?last_row=16")), HasSubstr("last_row: 16 is outside 0..15"));
  EXPECT_THAT(error(Get("/api/circuits?find=a")), HasSubstr("such as 3-9"));
  EXPECT_THAT(error(Get("/api/circuits?find=16")), HasSubstr("input: 16 is outside 0..15"));
  EXPECT_THAT(error(Get("/api/nothing")), HasSubstr("nothing is served at /api/nothing"));
  EXPECT_THAT(Get("/../../etc/passwd"), StartsWith("HTTP/1.1 404"));
  const std::string token = Token();
  EXPECT_THAT(error(Post("/api/link/fail", "[]", token)), HasSubstr("fields stage, row and port"));
  EXPECT_THAT(error(Post("/api/link/fail", std::string(3000, '['), token)), HasSubstr("object"));
  EXPECT_THAT(error(Post("/api/link/fail", R"({"stage":1,"row":-1})", token)),
              testing::AllOf(HasSubstr("row: is missing"), HasSubstr("port: is missing")));
  EXPECT_THAT(error(Post("/api/link/fail", R"({"stage":1,"row":1,"port":1,"up":1})", token)),
              HasSubstr("up: is not a field"));
  EXPECT_THAT(error(Post("/api/link/fail", R"({"stage":8,"row":1,"port":1})", token)),
              HasSubstr("stage: 8 is outside 0..7"));
  EXPECT_THAT(error(Post("/api/link/melt", "{}", token)), HasSubstr("/api/node/restore"));
}

// No program is defined on a two-fold butterfly, so this test loads another network.
TEST_F(WebPageTest, AProgramIsRecordedForWhoeverLooks) {
  Start({}, /*loaded=*/false);
  v1::Topology topology = RandomlyWired(16);
  topology.mutable_network()->set_kind(v1::MULTIBUTTERFLY);
  topology.mutable_network()->set_multiplicity(2);
  ASSERT_TRUE(Load(*controller_, topology).ok());
  ASSERT_TRUE(Eventually([&] { return Body(Get("/api/topology")).value("rows", 0) == 16; }));
  const json answer = Body(Get("/api/program?program=waves&permutation=bitrev&waves=2"));
  v1::RouteRequest request;
  request.set_program("waves");
  request.set_permutation("bitrev");
  request.set_waves(2);
  const auto told = Call(*controller_->programs, &v1::Programs::Stub::DryRun, request);
  ASSERT_TRUE(told.ok()) << told.status();
  ASSERT_EQ(told->steps_size(), 16 * 4);
  EXPECT_EQ(answer["fabric"], Body(Get("/api/topology"))["fabric"]);
  EXPECT_EQ(answer["report"]["steps"], told->report().steps());
  EXPECT_EQ(answer["steps"], json(std::vector(told->steps().begin(), told->steps().end())));
  EXPECT_EQ(answer["rows"], json(std::vector(told->rows().begin(), told->rows().end())));
  EXPECT_EQ(answer["outputs"], json(std::vector(told->outputs().begin(), told->outputs().end())));
  EXPECT_EQ(Body(Get("/api/programs"))["programs"].size(), 5u);
  EXPECT_THAT(Get("/api/program?program=flood"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("is none of waves")));
  EXPECT_THAT(Get("/api/program?program=greedy&h=2049"),
              AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("use a smaller h (2048 fits)")));
}

TEST_F(WebPageTest, WithoutAFabricThePageSaysSo) {
  Start({}, /*loaded=*/false);
  for (const char* target : {"/api/topology", "/api/load", "/api/links", "/api/history"})
    EXPECT_THAT(Get(target), StartsWith("HTTP/1.1 409")) << target;
  EXPECT_THAT(Get("/"), StartsWith("HTTP/1.1 200"));
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  EXPECT_TRUE(Eventually([&] { return Body(Get("/api/load")).contains("stages"); }));
}

TEST_F(WebPageTest, NoOtherSiteMayReadOrFrameAnything) {
  Start();
  for (const char* target : {"/", "/main.js", "/api/topology", "/nothing"}) {
    const std::string answer = Get(target, "Origin: http://example.org\r\n");
    EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'"))
        << target;
    EXPECT_THAT(answer, HasSubstr("frame-ancestors 'none'")) << target;
    EXPECT_THAT(answer, HasSubstr("nosniff")) << target;
    EXPECT_THAT(answer, Not(HasSubstr("Access-Control"))) << target;
  }
  EXPECT_THAT(Send("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 421"));
  EXPECT_THAT(Send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 421"));
  EXPECT_THAT(Send("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n"
                   "Connection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Send("OPTIONS /api/link/fail HTTP/1.1\r\nHost: localhost\r\n"
                   "Origin: http://example.org\r\nConnection: close\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: GET, HEAD, POST\r\n")));
}

TEST_F(WebPageTest, AHeadIsAnsweredWithoutABody) {
  Start();
  const std::string page = Get("/main.js");
  const size_t bytes = page.size() - page.find("\r\n\r\n") - 4;
  const std::string both = Send(
      "HEAD /main.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(both, HasSubstr(absl::StrCat("Content-Length: ", bytes)));
  EXPECT_THAT(both.substr(both.find("\r\n\r\n") + 4), StartsWith("HTTP/1.1 200"));
}

TEST_F(WebPageTest, WhatIsNotHttpIsRefusedAndTheNextClientIsServed) {
  Start({.max_header_bytes = 2048, .max_body_bytes = 256, .patience = milliseconds(2000)});
  EXPECT_THAT(Send("\x16\x03\x01 this is TLS\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Send("GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n"
                   "Connection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Get("/?a=%zz"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Get("/", "X: " + std::string(4096, 'x') + "\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(Get("/" + std::string(4096, 'x')), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(Post("/api/link/fail", std::string(300, ' '), Token()), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Send("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "ffffff\r\n" +
                   std::string(1000, 'x')),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
                   "Content-Length: 5\r\n\r\nabcde"),
              StartsWith("HTTP/1.1 400"));
  std::string noise(65'536, 0);
  uint32_t random = 1;
  for (char& byte : noise) byte = static_cast<char>((random = random * 1664525 + 1013904223) >> 24);
  for (size_t at = 0; at < noise.size(); at += 4096) {
    RawClient client(page_->url());
    client.Send(noise.substr(at, 4096));
    client.EndSending();
    EXPECT_THAT(client.ReadAll(), Not(StartsWith("HTTP/1.1 200")));
  }
  EXPECT_THAT(Get("/api/topology"), StartsWith("HTTP/1.1 200"));
}

// The header of a chunk has no limit in Beast: the server would keep all of it.
TEST_F(WebPageTest, AChunkHeaderWithoutEndIsRefused) {
  Start();
  const std::string head =
      "POST /api/link HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(Send(absl::StrCat(head, "1;", std::string(64 << 10, 'a'))),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Send(absl::StrCat(head, "0\r\nTrailer: ", std::string(64 << 10, 'a'))),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Get("/"), StartsWith("HTTP/1.1 200"));
}

TEST_F(WebPageTest, SlowAndSilentClientsAreSentAway) {
  Start({.max_connections = 3, .patience = milliseconds(300)});
  const auto begin = std::chrono::steady_clock::now();
  RawClient slow(page_->url());
  std::thread trickle([&slow] {
    for (const char byte : std::string("GET / HTTP/1.1\r\nHost: localhost\r\nX: xxxxxxxxxxxx")) {
      slow.Send(std::string(1, byte));
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  EXPECT_EQ(slow.ReadAll(), "");
  // Sent at 20 ms a byte the request would take 900 ms, and every byte would make time anew.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  trickle.join();
  RawClient silent(page_->url());
  EXPECT_EQ(silent.ReadAll(), "");
}

TEST_F(WebPageTest, ConnectionsAreCounted) {
  Start({.max_connections = 3, .patience = milliseconds(60'000)});
  const std::string request = "GET /api/topology HTTP/1.1\r\nHost: localhost\r\n\r\n";
  {
    RawClient first(page_->url()), second(page_->url()), third(page_->url());
    // The server may not have counted them yet when the fourth comes; then one of these has it.
    EXPECT_TRUE(Eventually([&] {
      RawClient fourth(page_->url());
      fourth.Send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      return fourth.ReadAll().empty();
    }));
  }
  EXPECT_TRUE(Eventually([&] { return !Get("/").empty(); }));
}

TEST_F(WebPageTest, AConnectionServesRequestAfterRequest) {
  Start();
  RawClient client(page_->url());
  client.Send(
      "GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "GET /api/role HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string answers = client.ReadAll();
  EXPECT_THAT(answers, HasSubstr("text/css"));
  EXPECT_THAT(answers, HasSubstr("{\"role\":\"viewer\"}"));
}

TEST_F(WebPageTest, ATakenAddressIsToldAndTheFilesGoWithThePage) {
  Start();
  std::string url = page_->url();
  url.pop_back();
  TemporaryFolder other;
  const auto second = WebPage::Start({.address = url.substr(7),
                                      .run_directory = other.path(),
                                      .viewer = [] { return nullptr; },
                                      .changer = [] { return nullptr; }});
  EXPECT_THAT(second.status().message(), HasSubstr("cannot serve at 127.0.0.1:"));
  EXPECT_EQ(access((other / "web.token").c_str(), F_OK), -1);
  EXPECT_EQ(access((directory_ / "web.url").c_str(), F_OK), 0);
  page_ = nullptr;
  EXPECT_EQ(access((directory_ / "web.url").c_str(), F_OK), -1);
  EXPECT_EQ(access((directory_ / "web.token").c_str(), F_OK), -1);
}

TEST_F(WebPageTest, FilesOfAKilledControllerAreRemoved) {
  Start();
  WebPage::RemoveLeftovers(directory_.path());
  EXPECT_EQ(access((directory_ / "web.url").c_str(), F_OK), -1);
  EXPECT_EQ(access((directory_ / "web.token").c_str(), F_OK), -1);
}

}  // namespace
}  // namespace bfly::control
