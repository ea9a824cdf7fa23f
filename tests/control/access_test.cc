// SPDX-License-Identifier: Apache-2.0
// Roles by rules, and the files of TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
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

struct stat FileOfSocket(mode_t mode = 0660) {
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
  EXPECT_EQ(rules.OfPeer(User(0), FileOfSocket()), Role::kPrimary);
  EXPECT_EQ(rules.OfPeer(User(kOwner), FileOfSocket()), Role::kPrimary);
  EXPECT_EQ(rules.OfPeer(User(7, {kGroup}), FileOfSocket()), Role::kPrimary);
  EXPECT_EQ(rules.OfPeer(User(7, {601}), FileOfSocket()), Role::kNone);
  EXPECT_EQ(rules.OfPeer(User(7, {kGroup}), FileOfSocket(0600)), Role::kNone);
  EXPECT_EQ(rules.OfCertificate("alice"), Role::kNone);
  EXPECT_FALSE(rules.admits_other_users());
  EXPECT_FALSE(rules.admits_anyone());
}

TEST(AccessRules, TheHighestRoleOfSeveralRulesCounts) {
  const auto rules = AccessRules::From({.viewers = {"user:7", "group:900", "certificate:alice"},
                                        .operators = {"group:901", "certificate:bob"},
                                        .primaries = {"user:8", "certificate:alice"}});
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(rules->OfPeer(User(7), FileOfSocket()), Role::kViewer);
  EXPECT_EQ(rules->OfPeer(User(7, {901}), FileOfSocket()), Role::kOperator);
  EXPECT_EQ(rules->OfPeer(User(9, {900}), FileOfSocket()), Role::kViewer);
  EXPECT_EQ(rules->OfPeer(User(8, {900}), FileOfSocket()), Role::kPrimary);
  EXPECT_EQ(rules->OfPeer(User(9), FileOfSocket()), Role::kNone);
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
  EXPECT_EQ(rules->OfPeer(User(9), FileOfSocket()), Role::kViewer);
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

// The text that `write` writes with OpenSSL.
template <class Write>
std::string Pem(Write write) {
  BIO* const bio = BIO_new(BIO_s_mem());
  EXPECT_EQ(write(bio), 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  std::string pem(text, static_cast<size_t>(size));
  BIO_free(bio);
  return pem;
}

// A certificate that signs itself, and its key.
struct Pair {
  std::string certificate, key;
};
Pair NewPair(int seconds_left = 3600) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate), seconds_left);
  X509_set_pubkey(certificate, key);
  EXPECT_GT(X509_sign(certificate, key, EVP_sha256()), 0);
  const Pair pair{
      .certificate = Pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); }),
      .key = Pem([&](BIO* bio) {
        return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
      })};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return pair;
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
  const Pair pair = NewPair();
  const std::string certificate = File("c.pem", 0644, pair.certificate);
  for (const mode_t mode : {0640, 0604, 0620, 0602}) {
    const auto server =
        TlsServer({certificate, File("k.pem", mode, pair.key), ""}, gate, Role::kViewer);
    EXPECT_EQ(server.status().code(), absl::StatusCode::kPermissionDenied) << std::oct << mode;
    EXPECT_THAT(std::string(server.status().message()), HasSubstr("chmod 600"));
  }
  const std::string key = File("k.pem", 0600, pair.key);
  EXPECT_TRUE(TlsServer({certificate, key, ""}, gate, Role::kViewer).ok());
}

TEST_F(TlsTest, AKeyOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const Gate gate{*AccessRules::From({.viewers = {"anyone"}, .operators = {}, .primaries = {}})};
  const Pair pair = NewPair();
  const std::string certificate = File("c.pem", 0644, pair.certificate);
  const std::string key = File("k.pem", 0600, pair.key);
  ASSERT_EQ(chown(key.c_str(), 1000, 1000), 0);
  const auto server = TlsServer({certificate, key, ""}, gate, Role::kViewer);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("tls-key: " + key));
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("belongs to user 1000"));
  // A daemon that serves no TCP shows the certificate to data planes.
  DoorFlags flags;
  flags.tls = {certificate, key, certificate};
  const auto doors = [&] {
    return DoorsOf(flags, "unix:" + folder_.path() + "/a.sock", Role::kViewer).status();
  };
  EXPECT_EQ(doors().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(doors().message()), HasSubstr("belongs to user 1000"));
  // A certificate is no secret.
  ASSERT_EQ(chown(key.c_str(), 0, 0), 0);
  ASSERT_EQ(chown(certificate.c_str(), 1000, 1000), 0);
  EXPECT_TRUE(TlsServer({certificate, key, ""}, gate, Role::kViewer).ok());
  EXPECT_TRUE(doors().ok()) << doors();
}

TEST_F(TlsTest, SaysWhichFileDoesNotFitTheOthers) {
  const Gate gate{*AccessRules::From({.viewers = {"anyone"}, .operators = {}, .primaries = {}})};
  const Pair one = NewPair(), other = NewPair(), old = NewPair(/*seconds_left=*/-3600);
  const std::string certificate = File("c.pem", 0644, one.certificate);
  const std::string key = File("c.key", 0600, one.key);
  const std::string other_key = File("other.key", 0600, other.key);
  const std::string nonsense = File("nonsense", 0600);
  const auto said = [&](const TlsFlags& flags) {
    const std::string server(TlsServer(flags, gate, Role::kViewer).status().message());
    EXPECT_EQ(server, std::string(TlsClient(flags).status().message()));
    return server;
  };
  EXPECT_EQ(said({certificate, key, ""}), "");
  EXPECT_EQ(said({certificate, key, certificate}), "");
  EXPECT_EQ(said({certificate, other_key, ""}),
            "tls-key: " + other_key + " is not the key of " + certificate);
  chmod(certificate.c_str(), 0600);
  EXPECT_THAT(said({key, certificate, ""}), HasSubstr("tls-cert: the first certificate of " + key));
  EXPECT_THAT(said({nonsense, key, ""}), HasSubstr("tls-cert: the first certificate of "));
  EXPECT_THAT(said({certificate, nonsense, ""}), HasSubstr("tls-key: " + nonsense));
  EXPECT_THAT(said({certificate, key, key}), HasSubstr("tls-ca: the first certificate of " + key));
  EXPECT_THAT(
      said({File("old.pem", 0644, old.certificate), File("old.key", 0600, old.key), certificate}),
      HasSubstr("old.pem has expired"));
}

TEST_F(TlsTest, ARoleOfACertificateThatNoClientIsAskedForIsRefused) {
  const Pair pair = NewPair();
  const std::string pem = File("a.pem", 0600, pair.certificate + pair.key);
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
