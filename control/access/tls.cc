// SPDX-License-Identifier: Apache-2.0
#include "control/access/tls.h"

#include <fcntl.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr size_t kMaxFile = 1 << 20;
enum class Kind { kPublic, kSecret };

absl::StatusOr<std::string> ReadPem(absl::string_view flag, const std::string& path, Kind kind) {
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
  if (!absl::StrContains(text, "-----BEGIN "))
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", path, " is not a PEM file, which has a line -----BEGIN ...-----"));
  return text;
}

struct Pems {
  std::string certificate, key, ca;
};

absl::StatusOr<Pems> ReadAll(const TlsFlags& flags) {
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
    absl::StatusOr<std::string> text = ReadPem(file.flag, file.path, file.kind);
    if (!text.ok()) return text.status();
    file.text = *std::move(text);
  }
  return pems;
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
  absl::StatusOr<Pems> pems = ReadAll(flags);
  if (!pems.ok()) return pems.status();
  grpc::SslServerCredentialsOptions options(
      flags.ca.empty()               ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
      : gate.rules().admits_anyone() ? GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY
                                     : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = pems->ca;
  options.pem_key_cert_pairs.push_back({pems->key, pems->certificate});
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::SslServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<LeastRole>(gate, least));
  return credentials;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TlsClient(const TlsFlags& flags) {
  absl::StatusOr<Pems> pems = ReadAll(flags);
  if (!pems.ok()) return pems.status();
  return grpc::SslCredentials({.pem_root_certs = pems->ca,
                               .pem_private_key = pems->key,
                               .pem_cert_chain = pems->certificate});
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
