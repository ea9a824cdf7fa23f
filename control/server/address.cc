// SPDX-License-Identifier: Apache-2.0
#include "control/server/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace bfly::control {
namespace {

constexpr absl::string_view kUnix = "unix:";
// gRPC takes the address of a socket for a URI, in which these characters do not stand for
// themselves.
constexpr char kNotInUris[] = "#?%";
// A killed process keeps its sockets until its last thread is gone.
constexpr std::chrono::seconds kDyingProcess{1};
constexpr size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;

enum class Reach { kThisMachine, kOtherMachines };

// Who can reach an IP address in numbers, IPv6 in brackets. Nothing for other text.
std::optional<Reach> ReachOf(absl::string_view host) {
  const auto reach = [](bool loopback) {
    return loopback ? Reach::kThisMachine : Reach::kOtherMachines;
  };
  in_addr v4;
  if (inet_pton(AF_INET, std::string(host).c_str(), &v4) == 1)
    return reach(ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET);
  in6_addr v6;
  if (!absl::ConsumePrefix(&host, "[") || !absl::ConsumeSuffix(&host, "]") ||
      inet_pton(AF_INET6, std::string(host).c_str(), &v6) != 1) {
    return std::nullopt;
  }
  return reach(IN6_IS_ADDR_LOOPBACK(&v6) != 0);
}

bool AnswersStill(const std::string& path) {
  const auto deadline = std::chrono::steady_clock::now() + kDyingProcess;
  while (SomebodyAnswers(path)) {
    if (std::chrono::steady_clock::now() >= deadline) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

// `harm` is what other users could do if they wrote there.
absl::Status CheckNobodyElseWrites(const std::string& directory, absl::string_view option,
                                   absl::string_view harm) {
  struct stat info {};
  if (stat(directory.c_str(), &info) != 0) return absl::OkStatus();
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(option, ": ", directory, " belongs to another user, ", info.st_uid,
                     ", who could ", harm, "; use a directory of your own"));
  }
  if ((info.st_mode & S_IWOTH) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(option, ": everybody may write to ", directory, ", and could ", harm,
                     "; chmod o-w it, or use a directory of your own"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string RunDirectory(absl::string_view given) {
  if (!given.empty()) return std::string(given);
  const char* environment = std::getenv("BFLY_RUN_DIR");
  return environment != nullptr && *environment != '\0' ? environment : kDefaultRunDirectory;
}

std::string StateDirectory(absl::string_view given, absl::string_view run_directory) {
  if (!given.empty()) return std::string(given);
  const char* environment = std::getenv("BFLY_STATE_DIR");
  if (environment != nullptr && environment[0] != '\0') return environment;
  return run_directory == kDefaultRunDirectory ? "/var/lib/bfly" : std::string(run_directory);
}

std::string SocketAddress(absl::string_view run_directory, absl::string_view name) {
  return absl::StrCat(kUnix, run_directory, "/", name, ".sock");
}

std::string SocketPath(absl::string_view address) {
  if (!absl::StartsWith(address, kUnix)) return "";
  return std::string(address.substr(kUnix.size()));
}

std::string UpdateSocketPath(absl::string_view agent_address) {
  const std::string socket = SocketPath(agent_address);
  absl::string_view stem = socket;
  if (!absl::ConsumeSuffix(&stem, ".sock")) return "";
  const std::string path = absl::StrCat(stem, ".updates");
  return path.size() <= kMaxPath ? path : "";
}

std::vector<std::string> AgentAddresses(const std::string& run_directory) {
  std::vector<std::string> addresses;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(run_directory, error)) {
    if (!entry.is_socket(error) || entry.path().extension() != ".sock" ||
        entry.path().stem() == "controller") {
      continue;
    }
    const std::string address = absl::StrCat(kUnix, entry.path().string());
    const std::string updates = UpdateSocketPath(address);
    if (updates.empty() || std::filesystem::exists(updates, error)) addresses.push_back(address);
  }
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

absl::StatusOr<std::string> ListenAddress(absl::string_view given) {
  if (!absl::StartsWith(given, kUnix)) {
    return absl::InvalidArgumentError(
        absl::StrCat("listen: \"", given,
                     "\" is not a Unix socket, unix:PATH; --tls-listen ADDRESS:PORT opens an "
                     "encrypted TCP port"));
  }
  const std::string path = SocketPath(given);
  if (path.empty() || path.size() > kMaxPath) {
    return absl::InvalidArgumentError(absl::StrCat("listen: a socket path has 1 to ", kMaxPath,
                                                   " characters, \"", path, "\" has ", path.size(),
                                                   "; choose a shorter run directory"));
  }
  if (const size_t at = path.find_first_of(kNotInUris); at != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("listen: \"", path, "\" has a '", path.substr(at, 1),
                     "', and gRPC does not find sockets in such a path; "
                     "choose another"));
  }
  return std::string(given);
}

absl::StatusOr<std::string> TcpAddress(absl::string_view given) {
  const size_t colon = given.rfind(':');
  const absl::string_view port_text =
      colon == absl::string_view::npos ? given : given.substr(colon + 1);
  const absl::string_view host =
      colon == absl::string_view::npos || colon == 0 ? "127.0.0.1" : given.substr(0, colon);
  uint32_t port = 0;
  if (!ReachOf(host).has_value() || !absl::SimpleAtoi(port_text, &port) || port == 0 ||
      port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", given,
        "\" is not a PORT from 1 to 65535, nor an address in numbers with one, such as "
        "127.0.0.1:7380 or [::1]:7380"));
  }
  return absl::StrCat(host, ":", port);
}

bool IsLoopback(absl::string_view tcp_address) {
  return ReachOf(tcp_address.substr(0, tcp_address.rfind(':'))) == Reach::kThisMachine;
}

absl::Status CheckRunDirectory(const std::string& directory) {
  if (const size_t at = directory.find_first_of(kNotInUris); at != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("run-dir: ", directory, " has a '", directory.substr(at, 1),
                     "', with which gRPC does not find the sockets in it; use a directory without "
                     "'#', '?' and '%'"));
  }
  return CheckNobodyElseWrites(directory, "run-dir", "have our files written elsewhere");
}

absl::Status CheckStateDirectory(const std::string& directory) {
  return CheckNobodyElseWrites(directory, "state-dir", "change what we load from there");
}

bool SomebodyAnswers(const std::string& path) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof(address.sun_path)) return false;
  path.copy(address.sun_path, path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  // EAGAIN: a process listens there, and its queue of connections is full.
  const bool answers =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno == EAGAIN;
  close(fd);
  return answers;
}

absl::Status PrepareSocket(absl::string_view address) {
  const std::string path = SocketPath(address);
  if (path.empty()) return absl::OkStatus();
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!directory.empty()) std::filesystem::create_directories(directory, error);
  if (error) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make ", directory.string(), ": ", error.message(),
                     "; run as root or set --run-dir (or BFLY_RUN_DIR) to a directory of yours"));
  }
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " exists and is not a socket"));
  }
  if (AnswersStill(path)) {
    return absl::AlreadyExistsError(absl::StrCat("another process answers on ", path,
                                                 "; stop it, or use another --name or --listen"));
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot remove the stale socket ", path, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
