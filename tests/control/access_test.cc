// SPDX-License-Identifier: Apache-2.0
// Roles by rules, connections by their descriptor, and the audit log as a file.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "control/access/access_rules.h"
#include "control/access/audit_log.h"
#include "control/access/gate.h"
#include "control/access/tls.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

constexpr uid_t kOwner = 500;
constexpr gid_t kGroup = 600;

struct stat SocketFile(mode_t mode = 0660) {
  struct stat file {};
  file.st_uid = kOwner;
  file.st_gid = kGroup;
  file.st_mode = S_IFSOCK | mode;
  return file;
}

Peer User(uid_t uid, std::vector<gid_t> groups = {}) {
  return {.pid = 1, .uid = uid, .groups = std::move(groups)};
}

TEST(AccessRules, WithoutRulesRootTheOwnerAndTheGroupHaveEveryRoleAndOthersNone) {
  const AccessRules rules;
  EXPECT_EQ(rules.OfPeer(User(0), SocketFile()), Role::kPrimary);
  EXPECT_EQ(rules.OfPeer(User(kOwner), SocketFile()), Role::kPrimary);
  EXPECT_EQ(rules.OfPeer(User(7, {kGroup}), SocketFile()), Role::kPrimary);
  EXPECT_EQ(rules.OfPeer(User(7, {601}), SocketFile()), Role::kNone);
  EXPECT_EQ(rules.OfPeer(User(7, {kGroup}), SocketFile(0600)), Role::kNone);
  EXPECT_EQ(rules.OfCertificate("alice"), Role::kNone);
  EXPECT_FALSE(rules.admits_other_users());
  EXPECT_FALSE(rules.admits_anyone());
}

TEST(AccessRules, TheHighestRoleOfSeveralRulesCounts) {
  const auto rules = AccessRules::From({.viewers = {"user:7", "group:900", "certificate:alice"},
                                        .operators = {"group:901", "certificate:bob"},
                                        .primaries = {"user:8", "certificate:alice"}});
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(rules->OfPeer(User(7), SocketFile()), Role::kViewer);
  EXPECT_EQ(rules->OfPeer(User(7, {901}), SocketFile()), Role::kOperator);
  EXPECT_EQ(rules->OfPeer(User(9, {900}), SocketFile()), Role::kViewer);
  EXPECT_EQ(rules->OfPeer(User(8, {900}), SocketFile()), Role::kPrimary);
  EXPECT_EQ(rules->OfPeer(User(9), SocketFile()), Role::kNone);
  EXPECT_EQ(rules->OfCertificate("alice"), Role::kPrimary);
  EXPECT_EQ(rules->OfCertificate("bob"), Role::kOperator);
  EXPECT_EQ(rules->OfCertificate("Bob"), Role::kNone);
  EXPECT_EQ(rules->OfCertificate(""), Role::kNone);
  EXPECT_TRUE(rules->admits_other_users());
  EXPECT_FALSE(rules->admits_anyone());
}

TEST(AccessRules, AnyoneMayViewAndNoMore) {
  const auto rules = AccessRules::From({.viewers = {"anyone"}, .operators = {}, .primaries = {}});
  ASSERT_TRUE(rules.ok());
  EXPECT_EQ(rules->OfPeer(User(9), SocketFile()), Role::kViewer);
  EXPECT_EQ(rules->OfCertificate(""), Role::kViewer);
  EXPECT_TRUE(rules->admits_anyone());
  EXPECT_FALSE(AccessRules::From({.viewers = {}, .operators = {"anyone"}, .primaries = {}}).ok());
}

TEST(AccessRules, CertificatesAloneOpenNoSocketToOtherUsers) {
  const auto rules =
      AccessRules::From({.viewers = {}, .operators = {"certificate:a"}, .primaries = {}});
  ASSERT_TRUE(rules.ok());
  EXPECT_FALSE(rules->admits_other_users());
}

TEST(AccessRules, NamesWhatIsNoCaller) {
  for (const char* wrong : {"", "alice", "user:", "group:", "certificate:",
                            "user:no-such-user-here", "group:no-such-group-here", "uid:7"}) {
    const auto rules = AccessRules::From({.viewers = {wrong}, .operators = {}, .primaries = {}});
    EXPECT_EQ(rules.status().code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(std::string(rules.status().message()),
                HasSubstr("viewer: \"" + std::string(wrong)));
  }
  EXPECT_TRUE(
      AccessRules::From({.viewers = {"user:root", "group:0"}, .operators = {}, .primaries = {}})
          .ok());
}

class GateTest : public testing::Test {
 protected:
  // Connects to a socket at `path_` and returns the end that was accepted.
  int Accept() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    if (listening_ < 0) {
      listening_ = socket(AF_UNIX, SOCK_STREAM, 0);
      EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
      EXPECT_EQ(listen(listening_, 8), 0);
    }
    const int client = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    clients_.push_back(client);
    return accept(listening_, nullptr, nullptr);
  }
  ~GateTest() override {
    for (const int fd : clients_) close(fd);
    if (listening_ >= 0) close(listening_);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/a.sock";
  int listening_ = -1;
  std::vector<int> clients_;
};

TEST_F(GateTest, ANumberOfAConnectionDoesNotComeBackSoon) {
  Gate gate{AccessRules()};
  std::set<int> numbers;
  for (int connection = 0; connection < 300; ++connection) {
    const auto number = gate.Admit(Accept(), path_);
    ASSERT_TRUE(number.ok()) << number.status();
    EXPECT_TRUE(numbers.insert(*number).second) << *number << " came back at " << connection;
    close(*number);
    close(clients_.back());
    clients_.pop_back();
  }
}

TEST_F(GateTest, ConnectionsAreTakenWhereNoHighNumberIsFree) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  Gate gate{AccessRules()};
  const auto number = gate.Admit(Accept(), path_);
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(number.ok()) << number.status();
  close(*number);
}

TEST(CallRate, GivesASecondsCallsAtOnceAndThenAsManyAsBecomeFree) {
  CallRate rate(10);
  const CallRate::Time start{};
  const auto taken = [&](const std::string& who, std::chrono::milliseconds at) {
    int count = 0;
    while (count < 1000 && rate.Take(who, start + at)) ++count;
    return count;
  };
  using std::chrono::milliseconds;
  EXPECT_EQ(taken("eve", milliseconds(0)), 10);
  EXPECT_EQ(taken("eve", milliseconds(50)), 0);
  EXPECT_EQ(taken("bob", milliseconds(50)), 10);  // each has his own
  EXPECT_EQ(taken("eve", milliseconds(550)), 5);
  EXPECT_EQ(taken("eve", milliseconds(60'000)), 10);  // no more are saved up
  CallRate any(0);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(any.Take("eve", start));
}

TEST(CallRate, ManyCallersTakeBoundedMemoryAndShareWhatIsLeft) {
  CallRate rate(1);
  const CallRate::Time start{};
  size_t admitted = 0;
  for (size_t i = 0; i < 3 * CallRate::kMostCallers; ++i) {
    admitted += rate.Take("caller " + std::to_string(i), start);
  }
  EXPECT_EQ(admitted, CallRate::kMostCallers + 1);
  // A moment later those who were quiet are forgotten, and others have room.
  EXPECT_TRUE(rate.Take("new", start + std::chrono::milliseconds(1001)));
}

TEST_F(GateTest, MethodsThatNobodyDeclaredNeedAViewer) {
  Gate gate{AccessRules()};
  gate.NeedsRole("/bfly.v1.Fabric/Load", Role::kOperator);
  EXPECT_EQ(gate.RoleOf("/bfly.v1.Fabric/Load"), Role::kOperator);
  EXPECT_EQ(gate.RoleOf("/grpc.health.v1.Health/Check"), Role::kViewer);
}

class AuditTest : public testing::Test {
 protected:
  std::vector<nlohmann::json> Lines(const std::string& path) {
    std::vector<nlohmann::json> lines;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  AuditEntry Entry(int number) {
    AuditEntry entry;
    entry.begin =
        std::chrono::system_clock::time_point(std::chrono::microseconds(1'500'000'000'123'456));
    entry.took = std::chrono::microseconds(42);
    entry.caller = {Role::kOperator, "certificate bob"};
    entry.call = "bfly.v1.Fabric.Load";
    entry.messages = number;
    entry.status = "OK";
    return entry;
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/audit.log";
};

TEST_F(AuditTest, ALineSaysWhoDidWhatWhenAndHowItEnded) {
  AuditEntry entry = Entry(1);
  entry.status = "INVALID_ARGUMENT";
  entry.error = "a \"quoted\"\nreason\xff";
  entry.request = [] { return std::string(10'000, 'r'); };
  const std::string text = AuditLine(entry);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto line = nlohmann::json::parse(text);
  // 1,500,000,000 s after 1970 began was 02:40 on 14 July 2017.
  EXPECT_EQ(line["time"], "2017-07-14T02:40:00.123456Z");
  EXPECT_EQ(line["caller"], "certificate bob");
  EXPECT_EQ(line["role"], "operator");
  EXPECT_EQ(line["call"], "bfly.v1.Fabric.Load");
  EXPECT_EQ(line["status"], "INVALID_ARGUMENT");
  EXPECT_EQ(line["us"], 42);
  EXPECT_THAT(line["error"].get<std::string>(), testing::StartsWith("a \"quoted\"\nreason"));
  EXPECT_EQ(line["request"].get<std::string>(), std::string(kMaxAuditText, 'r') + "...");
}

TEST_F(AuditTest, EveryEntryOfManyThreadsIsWrittenOnceAndInTheOrderOfItsThread) {
  constexpr int kThreads = 4, kEach = 5'000;  // more than may wait
  {
    const auto log = AuditLog::Open(path_);
    ASSERT_TRUE(log.ok()) << log.status();
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int number = 0; number < kEach; ++number)
          (*log)->Write(Entry(thread * kEach + number));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::vector<int> next(kThreads, 0);
  for (const auto& line : Lines(path_)) {
    const int number = line["messages"].get<int>();
    EXPECT_EQ(number % kEach, next[number / kEach]++);
  }
  for (const int seen : next) EXPECT_EQ(seen, kEach);
}

TEST_F(AuditTest, AFullFileBecomesTheOldOneAndNoLineIsCut) {
  constexpr uint64_t kMax = 4096;
  const size_t line = AuditLine(Entry(1)).size() + 1;
  const int fits = static_cast<int>(kMax / line);
  {
    const auto log = AuditLog::Open(path_, kMax);
    ASSERT_TRUE(log.ok());
    for (int number = 0; number < 3 * fits; ++number) (*log)->Write(Entry(1));
  }
  EXPECT_EQ(Lines(path_).size(), static_cast<size_t>(fits));
  EXPECT_EQ(Lines(path_ + ".1").size(), static_cast<size_t>(fits));
  EXPECT_LE(std::filesystem::file_size(path_), kMax);
}

TEST_F(AuditTest, CallsBeyondARoleAreCountedAndDoNotDriveOutWhatWasDone) {
  constexpr int kCalls = 100'000;
  {
    const auto log = AuditLog::Open(path_, /*max_file=*/100'000);
    ASSERT_TRUE(log.ok());
    (*log)->Write(Entry(7));
    AuditEntry refused = Entry(1);
    refused.caller = {Role::kViewer, "process 5 of user eve", "user eve"};
    refused.status = "PERMISSION_DENIED";
    refused.beyond_role = true;
    for (int number = 0; number < kCalls; ++number) (*log)->Write(refused);
    (*log)->Write(Entry(8));
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + ".1"));
  uint64_t refused = 0, done = 0, lines = 0;
  for (const auto& line : Lines(path_)) {
    ++lines;
    done += line["status"] == "OK";
    if (line.contains("calls_left_out")) {
      EXPECT_EQ(line["caller"], "user eve");
      refused += line["calls_left_out"].get<uint64_t>();
    } else if (line["status"] == "PERMISSION_DENIED") {
      ++refused;
    }
  }
  EXPECT_EQ(refused, static_cast<uint64_t>(kCalls)) << "each has a line or is counted";
  EXPECT_EQ(done, 2u);
  EXPECT_LT(lines, 200u);
}

TEST_F(AuditTest, ADiskThatIsFullLeavesWholeLinesAndTheirNumber) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  const size_t line = AuditLine(Entry(1)).size() + 1;
  {
    const auto log = AuditLog::Open(path_);
    ASSERT_TRUE(log.ok());
    const auto written = [&](size_t lines) {
      for (int look = 0; look < 1000 && std::filesystem::file_size(path_) < lines * line; ++look) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    };
    (*log)->Write(Entry(1));
    written(1);
    // Room for one line more and a part of the next.
    const rlimit limit{.rlim_cur = 2 * line + 20, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int number = 2; number <= 4; ++number) (*log)->Write(Entry(number));
    written(2);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    (*log)->Write(Entry(5));
  }
  signal(SIGXFSZ, SIG_DFL);
  const std::vector<nlohmann::json> lines = Lines(path_);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1]["messages"], 2);
  EXPECT_EQ(lines[2]["lines_lost"], 2);
  EXPECT_EQ(lines[2]["error"], "the disk is full");
  EXPECT_EQ(lines[3]["messages"], 5);
}

TEST_F(AuditTest, GoesOnInTheFileThatIsThereAndIsForOwnerAndGroup) {
  { (*AuditLog::Open(path_))->Write(Entry(1)); }
  { (*AuditLog::Open(path_))->Write(Entry(2)); }
  EXPECT_EQ(Lines(path_).size(), 2u);
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07, 0u);
}

TEST_F(AuditTest, FollowsNoLinkAndWritesIntoNoDirectory) {
  const std::string victim = folder_.path() + "/victim";
  std::ofstream(victim) << "precious";
  std::filesystem::create_symlink(victim, path_);
  EXPECT_EQ(AuditLog::Open(path_).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(AuditLog::Open(folder_.path()).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(std::filesystem::file_size(victim), 8u);
}

class TlsTest : public testing::Test {
 protected:
  std::string File(const std::string& name, mode_t mode,
                   const std::string& text = "-----BEGIN X-----\n") {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  const TemporaryFolder folder_;
};

TEST_F(TlsTest, AKeyThatOthersCanReadIsRefused) {
  const Gate gate{*AccessRules::From({.viewers = {"anyone"}, .operators = {}, .primaries = {}})};
  const std::string certificate = File("c.pem", 0644);
  for (const mode_t mode : {0640, 0604, 0620, 0602}) {
    const auto server = TlsServer({certificate, File("k.pem", mode), ""}, gate, Role::kViewer);
    EXPECT_EQ(server.status().code(), absl::StatusCode::kPermissionDenied) << std::oct << mode;
    EXPECT_THAT(std::string(server.status().message()), HasSubstr("chmod 600"));
  }
  EXPECT_TRUE(TlsServer({certificate, File("k.pem", 0600), ""}, gate, Role::kViewer).ok());
}

TEST_F(TlsTest, SaysWhichFileIsMissingOrNoPem) {
  const Gate gate{AccessRules()};
  const std::string pem = File("a.pem", 0600), text = File("b.pem", 0600, "no key");
  const auto said = [&](const TlsFlags& flags) {
    return std::string(TlsServer(flags, gate, Role::kViewer).status().message());
  };
  EXPECT_THAT(said({}), HasSubstr("--tls-cert and --tls-key"));
  EXPECT_THAT(said({pem, pem, ""}), HasSubstr("--tls-ca"));
  EXPECT_THAT(said({pem, text, pem}), HasSubstr("tls-key: " + text + " is not a PEM file"));
  EXPECT_THAT(said({folder_.path() + "/none", pem, pem}), HasSubstr("tls-cert: cannot read"));
  EXPECT_THAT(std::string(TlsClient({pem, "", pem}).status().message()), HasSubstr("go together"));
  EXPECT_THAT(std::string(CredentialsFor("10.0.0.1:7380", {}).status().message()),
              HasSubstr("tls-ca: 10.0.0.1:7380"));
  EXPECT_TRUE(CredentialsFor("unix:/run/bfly/controller.sock", {}).ok());
}

}  // namespace
}  // namespace bfly::control
