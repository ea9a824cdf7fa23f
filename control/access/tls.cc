// SPDX-License-Identifier: Apache-2.0
#include "control/access/tls.h"

#include <fcntl.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

using grpc::experimental::FileWatcherCertificateProvider;
using grpc::experimental::TlsServerCredentialsOptions;

constexpr size_t kMaxFile = 1 << 20;
enum class Kind { kPublic, kSecret };
enum class Side { kServer, kClient };

absl::StatusOr<std::string> ReadPem(absl::string_view flag, const std::string& path, Kind kind,
                                    Side side) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return absl::PermissionDeniedError(
        absl::StrCat(flag, ": cannot read ", path, ": ", std::strerror(errno)));
  struct stat info {};
  std::string text(kMaxFile, '\0');
  const bool known = fstat(fd, &info) == 0;
  size_t size = 0;
  ssize_t got = 0;
  while (size < text.size() && (got = read(fd, text.data() + size, text.size() - size)) > 0)
    size += static_cast<size_t>(got);
  close(fd);
  text.resize(size);
  if (!known || got < 0)
    return absl::PermissionDeniedError(absl::StrCat(flag, ": cannot read ", path));
  if (kind == Kind::kSecret && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return absl::PermissionDeniedError(absl::StrCat(flag, ": other users can read or write ", path,
                                                    "; run `chmod 600 ", path,
                                                    "` and use a new "
                                                    "key if it was exposed"));
  // A client by sudo may use a key of the user's own.
  if (kind == Kind::kSecret && side == Side::kServer && info.st_uid != 0 &&
      info.st_uid != geteuid())
    return absl::PermissionDeniedError(absl::StrCat(
        flag, ": ", path, " belongs to user ", info.st_uid, ", who can read it; run `chown ",
        geteuid(), " ", path, "` and use a new key if it was exposed"));
  if (!absl::StrContains(text, "-----BEGIN "))
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", path, " is not a PEM file, which has a line -----BEGIN ...-----"));
  return text;
}

struct Pems {
  std::string certificate, key, ca;
};

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio BioOf(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

// The first certificate of the text; null: none can be read.
Certificate CertificateOf(const std::string& text) {
  return {PEM_read_bio_X509(BioOf(text).get(), nullptr, nullptr, nullptr), X509_free};
}

Key KeyOf(const std::string& text) {
  // Without a password at hand OpenSSL would ask for it at the terminal.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  return {PEM_read_bio_PrivateKey(BioOf(text).get(), nullptr, no_password, nullptr), EVP_PKEY_free};
}

// gRPC takes any texts, and tells later only that no server or connection came about.
absl::Status CheckPems(const TlsFlags& flags, const Pems& pems) {
  const auto wrong = [](absl::string_view flag, const auto&... words) {
    ERR_clear_error();
    return absl::InvalidArgumentError(absl::StrCat(flag, ": ", words...));
  };
  if (!pems.ca.empty() && CertificateOf(pems.ca) == nullptr)
    return wrong("tls-ca", "the first certificate of ", flags.ca, " cannot be read");
  if (pems.certificate.empty()) return absl::OkStatus();
  const Certificate certificate = CertificateOf(pems.certificate);
  if (certificate == nullptr)
    return wrong("tls-cert", "the first certificate of ", flags.certificate, " cannot be read");
  const Key key = KeyOf(pems.key);
  if (key == nullptr)
    return wrong("tls-key", flags.key, " has no key that can be read without a password");
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return wrong("tls-key", flags.key, " is not the key of ", flags.certificate);
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0)
    return wrong("tls-cert", flags.certificate, " has expired, so nobody accepts it; renew it");
  return absl::OkStatus();
}

absl::Status CheckFiles(const TlsFlags& flags, Side side) {
  Pems pems;
  if (flags.certificate.empty() != flags.key.empty())
    return absl::InvalidArgumentError(
        "tls-cert: a certificate and its key go together; give --tls-cert and --tls-key");
  const struct {
    absl::string_view flag;
    const std::string& path;
    Kind kind;
    std::string& text;
  } files[] = {{"tls-cert", flags.certificate, Kind::kPublic, pems.certificate},
               {"tls-key", flags.key, Kind::kSecret, pems.key},
               {"tls-ca", flags.ca, Kind::kPublic, pems.ca}};
  for (const auto& file : files) {
    if (file.path.empty()) continue;
    absl::StatusOr<std::string> text = ReadPem(file.flag, file.path, file.kind, side);
    if (!text.ok()) return text.status();
    file.text = *std::move(text);
  }
  return CheckPems(flags, pems);
}

// How often gRPC looks whether the files were renewed.
constexpr unsigned kRenewalLookSeconds = 10;

std::shared_ptr<FileWatcherCertificateProvider> WatchedFiles(const TlsFlags& flags) {
  return std::make_shared<FileWatcherCertificateProvider>(flags.key, flags.certificate, flags.ca,
                                                          kRenewalLookSeconds);
}

// Refuses every call of a client without the least role, also to health and reflection.
class LeastRole final : public grpc::AuthMetadataProcessor {
 public:
  LeastRole(const Gate& gate, Role least) : gate_(gate), least_(least) {}
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata&, grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    std::string certificate;
    const auto names = context->FindPropertyValues("x509_common_name");
    if (context->IsPeerAuthenticated() && !names.empty())
      certificate.assign(names[0].data(), names[0].size());
    const Caller caller = gate_.OfCertificate(certificate, "this address");
    if (caller.role >= least_) return grpc::Status::OK;
    return {grpc::StatusCode::PERMISSION_DENIED,
            absl::StrCat(caller.name, " has the role ", NameOf(caller.role),
                         "; the least to call here is ", NameOf(least_))};
  }

 private:
  const Gate& gate_;
  const Role least_;
};

}  // namespace

absl::Status CheckDaemonFiles(const TlsFlags& flags) { return CheckFiles(flags, Side::kServer); }

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> TlsServer(const TlsFlags& flags,
                                                                   const Gate& gate, Role least) {
  if (flags.certificate.empty() || flags.key.empty())
    return absl::InvalidArgumentError(
        "tls-listen: TCP is encrypted; give --tls-cert and --tls-key of this server");
  if (flags.ca.empty() && !gate.rules().admits_anyone())
    return absl::InvalidArgumentError(
        "tls-listen: without --tls-ca no client can be told from another; give the authority that "
        "signed the clients' certificates, or --viewer anyone");
  if (flags.ca.empty() && gate.rules().names_certificates())
    return absl::InvalidArgumentError(
        "tls-listen: a certificate has a role, and without --tls-ca no client is asked for its "
        "certificate; give the authority that signed the clients' certificates");
  if (absl::Status status = CheckDaemonFiles(flags); !status.ok()) return status;
  TlsServerCredentialsOptions options(WatchedFiles(flags));
  options.watch_identity_key_cert_pairs();
  if (!flags.ca.empty()) options.watch_root_certs();
  options.set_cert_request_type(flags.ca.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                : gate.rules().admits_anyone()
                                    ? GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY
                                    : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  std::shared_ptr<grpc::ServerCredentials> credentials =
      grpc::experimental::TlsServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<LeastRole>(gate, least));
  return credentials;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TlsClient(const TlsFlags& flags) {
  if (absl::Status status = CheckFiles(flags, Side::kClient); !status.ok()) return status;
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(WatchedFiles(flags));
  if (!flags.ca.empty()) options.watch_root_certs();
  if (!flags.certificate.empty()) options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsFor(const std::string& address,
                                                                         const TlsFlags& flags) {
  if (absl::StartsWith(address, "unix:")) return grpc::InsecureChannelCredentials();
  if (flags.ca.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("tls-ca: ", address,
                     " is reached by TCP, which is encrypted; give --tls-ca, "
                     "the authority that signed its certificate"));
  return TlsClient(flags);
}

}  // namespace bfly::control
