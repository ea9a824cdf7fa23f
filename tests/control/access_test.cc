// SPDX-License-Identifier: Apache-2.0
// Roles by rules, connections by their descriptor, and the files of TLS.
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
#include "control/access/gate.h"
#include "control/access/tls.h"
#include "control/server/door_flags.h"
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

TEST_F(TlsTest, ARoleOfACertificateThatNoClientIsAskedForIsRefused) {
  const std::string pem = File("a.pem", 0600);
  const RoleFlags roles = {
      .viewers = {"anyone"}, .operators = {"certificate:bob"}, .primaries = {}};
  const Gate gate{*AccessRules::From(roles)};
  const auto server = TlsServer({pem, pem, ""}, gate, Role::kViewer);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("--tls-ca"));
  EXPECT_TRUE(TlsServer({pem, pem, pem}, gate, Role::kViewer).ok());

  DoorFlags flags;
  flags.roles = roles;
  const auto doors = DoorsOf(flags, "unix:" + folder_.path() + "/a.sock", Role::kViewer);
  EXPECT_EQ(doors.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(doors.status().message()), HasSubstr("--tls-listen"));
  flags.roles.operators = {"user:0"};
  EXPECT_TRUE(DoorsOf(flags, "unix:" + folder_.path() + "/a.sock", Role::kViewer).ok());
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
