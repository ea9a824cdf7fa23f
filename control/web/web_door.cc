// SPDX-License-Identifier: Apache-2.0
#include "control/web/web_door.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace bfly::control {
namespace {

constexpr size_t kTokenBytes = 16;

// "localhost:7390" as "localhost". Empty if what follows the colon is not a port.
absl::string_view NameIn(absl::string_view host) {
  const size_t colon = host.rfind(':');
  if (colon == absl::string_view::npos || absl::EndsWith(host, "]")) return host;
  uint32_t port = 0;
  if (!absl::SimpleAtoi(host.substr(colon + 1), &port) || port > 65535) return "";
  return host.substr(0, colon);
}

// The time it takes does not tell where the texts differ.
bool Equal(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differences = 0;
  for (size_t i = 0; i < a.size(); ++i) differences |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differences == 0;
}

absl::Status CannotWrite(const std::string& path) {
  return absl::InternalError(absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
}

}  // namespace

WebDoor::WebDoor(std::string token, const std::string& address)
    : token_(std::move(token)), name_(NameIn(address)) {}

// Any port will do, because a tunnel of ssh may have another one at its near end.
bool WebDoor::IsOfThisMachine(const std::string& host) const {
  const absl::string_view name = NameIn(host);
  if (name.empty()) return false;
  return name == name_ || name == "127.0.0.1" || name == "[::1]" ||
         absl::EqualsIgnoreCase(name, "localhost");
}

bool WebDoor::ShowsToken(const HttpRequest& request) const {
  constexpr absl::string_view kScheme = "Bearer ";
  return absl::StartsWith(request.authorization, kScheme) && !token_.empty() &&
         Equal(absl::string_view(request.authorization).substr(kScheme.size()), token_);
}

std::optional<HttpResponse> WebDoor::Refuse(const HttpRequest& request) const {
  if (!IsOfThisMachine(request.host))
    return HttpError(
        421, absl::StrCat("the Host header is \"", request.host, "\"; this page is served as ",
                          name_, ", localhost, 127.0.0.1 or [::1]"));
  if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
  if (request.method != "POST")
    return HttpError(405,
                     absl::StrCat("the method is ", request.method, "; use GET, HEAD or POST"));
  if (!request.origin.empty() && request.origin != absl::StrCat("http://", request.host))
    return HttpError(403, absl::StrCat("a page of ", request.origin,
                                       " may not change this fabric; open this page itself"));
  if (!absl::StartsWith(request.content_type, "application/json"))
    return HttpError(415, "the Content-Type of a change is application/json");
  if (!ShowsToken(request))
    return HttpError(403,
                     "a change needs the header \"Authorization: Bearer TOKEN\" with the token of "
                     "the file web.token in the run directory of bfly-controller");
  return std::nullopt;
}

absl::StatusOr<TokenFile> TokenFile::Write(const std::string& run_directory) {
  const std::string path = run_directory + "/web.token";
  char drawn[kTokenBytes];
  if (getrandom(drawn, sizeof(drawn), 0) != sizeof(drawn)) return CannotWrite(path);
  const std::string token = absl::BytesToHexString(absl::string_view(drawn, sizeof(drawn)));
  std::error_code ignored;
  std::filesystem::create_directories(run_directory, ignored);
  // A new file is created, because an existing one may be open to others.
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return CannotWrite(path);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return CannotWrite(path);
  const std::string text = token + "\n";
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const absl::Status status = written ? absl::OkStatus() : CannotWrite(path);
  close(file);
  if (!status.ok()) return status;
  return TokenFile(path, token);
}

TokenFile::~TokenFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

TokenFile::TokenFile(TokenFile&& other) noexcept
    : path_(std::exchange(other.path_, "")), token_(std::move(other.token_)) {}

}  // namespace bfly::control
