// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/memif_relay.h"

#include <fcntl.h>
#include <rte_ethdev.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace bfly::dataplane {
namespace {

constexpr char kDriver[] = "net_memif";
constexpr char kDefaultSocket[] = "/run/memif.sock";
constexpr char kSocketName[] = "driver";
// The bound keeps peers that connect and then do nothing from taking every file descriptor.
constexpr size_t kMostSessions = 64;
constexpr double kEndSeconds = 5;
// A peer that is refused can try again at once, so refusals get one line a minute.
constexpr std::chrono::minutes kLogEvery{1};

std::string NextAbstractName() {
  static std::atomic<int> next{0};
  return absl::StrCat("bfly-memif-", getpid(), "-", next.fetch_add(1, std::memory_order_relaxed));
}

bool IsThisProcess(const OwnedFd& connection) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.pid == getpid();
}

// The driver looks for the names of roles in this way, too.
bool HasAnyOf(absl::string_view text, std::initializer_list<absl::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](absl::string_view name) { return absl::StrContains(text, name); });
}

OwnedFd AcceptFrom(const OwnedFd& listener) {
  return OwnedFd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

}  // namespace

absl::StatusOr<std::optional<MemifDevice>> MemifDevice::Of(const std::string& device) {
  if (!absl::StartsWith(device, kDriver)) return std::nullopt;
  MemifDevice memif{.socket = {.path = kDefaultSocket, .abstract = true}};
  for (absl::string_view part : absl::StrSplit(device, ',')) {
    const std::pair<absl::string_view, absl::string_view> argument =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const auto& [key, value] = argument;
    if (key == "role") {
      memif.server = HasAnyOf(value, {"server", "master"});
      if (!memif.server && !HasAnyOf(value, {"client", "slave"})) {
        return absl::InvalidArgumentError(
            absl::StrCat("role \"", value, "\" is neither server nor client"));
      }
    } else if (key == "id") {
      if (!absl::SimpleAtoi(value, &memif.id)) {
        return absl::InvalidArgumentError(
            absl::StrCat("id \"", value, "\" is not a whole number from 0 to 4294967295"));
      }
    } else if (key == "socket") {
      memif.socket.path = std::string(value);
    } else if (key == "socket-abstract") {
      memif.socket.abstract = absl::StrContains(value, "yes");
    }
  }
  return memif;
}

absl::StatusOr<std::unique_ptr<MemifRelay>> MemifRelay::Open(
    const MemifDevice& device, std::function<void()> wait_for_workers) {
  std::unique_ptr<MemifRelay> relay(new MemifRelay(device, std::move(wait_for_workers)));
  auto outside = relay->server_ ? ListenAt(relay->outside_, SOCK_SEQPACKET)
                                : ConnectTo(relay->outside_, SOCK_SEQPACKET);
  if (!outside.ok()) return outside.status();
  if (!relay->server_) {
    if (absl::Status status = CheckPeer(relay->outside_, *outside); !status.ok()) return status;
  }
  (relay->server_ ? relay->outside_listener_ : relay->answer_) = *std::move(outside);
  if (absl::Status status = relay->MakeInside(); !status.ok()) return status;
  return relay;
}

absl::Status MemifRelay::MakeInside() {
  if (!server_) {
    // The driver connects to this address. AcceptDriver accepts connections from this process only.
    inside_ = {.path = NextAbstractName(), .abstract = true};
    auto listener = ListenAt(inside_, SOCK_SEQPACKET);
    if (!listener.ok()) return listener.status();
    inside_listener_ = *std::move(listener);
    return absl::OkStatus();
  }
  std::error_code error;
  directory_ = std::filesystem::temp_directory_path(error).string() + "/bfly-memif-XXXXXX";
  if (error || mkdtemp(directory_.data()) == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot make a directory ", directory_, " for the driver's socket"));
  }
  inside_ = {.path = absl::StrCat(directory_, "/", kSocketName)};
  return absl::OkStatus();
}

MemifRelay::~MemifRelay() {
  if (server_ && !outside_.abstract && outside_listener_) unlink(outside_.path.c_str());
  if (directory_.empty()) return;
  unlink(inside_.path.c_str());
  rmdir(directory_.c_str());
}

std::string MemifRelay::DriversDevice(const std::string& device) const {
  std::string to_driver;
  for (absl::string_view part : absl::StrSplit(device, ',')) {
    if (absl::StartsWith(part, "socket=") || absl::StartsWith(part, "socket-abstract=")) continue;
    absl::StrAppend(&to_driver, to_driver.empty() ? "" : ",", part);
  }
  return absl::StrCat(to_driver, ",socket=", inside_.path,
                      ",socket-abstract=", inside_.abstract ? "yes" : "no");
}

void MemifRelay::HideDriversSocket() {
  drivers_socket_ = OwnedFd(open(inside_.path.c_str(), O_PATH | O_CLOEXEC));
  if (!drivers_socket_) return;
  unlink(inside_.path.c_str());
  rmdir(directory_.c_str());
}

void MemifRelay::Add(uint32_t id, uint16_t port, DeviceGate* gate) {
  if (server_ && !drivers_socket_) HideDriversSocket();
  devices_[id] = {.port = port, .gate = gate};
}

void MemifRelay::Remove(uint32_t id) {
  const auto device = devices_.find(id);
  if (device == devices_.end()) return;
  std::erase_if(sessions_, [&](const std::unique_ptr<Session>& session) {
    if (session->device != &device->second) return false;
    session->channel->End(kEndSeconds);
    return true;
  });
  devices_.erase(device);
  if (!server_ || !devices_.empty()) return;
  sessions_.clear();
  // The driver removes the name of its socket, and would complain if there were none.
  drivers_socket_.Reset();
  mkdir(directory_.c_str(), 0700);
  OwnedFd(open(inside_.path.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600)).Reset();
}

void MemifRelay::Begin(OwnedFd peer, OwnedFd driver) {
  Session* const session = sessions_.emplace_back(std::make_unique<Session>()).get();
  const auto close = [this, session] {
    session->device->gate->Close();
    wait_for_workers_();
  };
  session->channel = std::make_unique<MemifSession>(
      std::move(peer), std::move(driver),
      server_ ? MemifSession::Server::kDriver : MemifSession::Server::kPeer,
      MemifSession::Hooks{.asks_for =
                              [this, session](uint32_t id) {
                                const auto device = devices_.find(id);
                                if (device != devices_.end()) session->device = &device->second;
                              },
                          .connected =
                              [session] {
                                if (session->device == nullptr) return;
                                session->device->gate->Open(session->device->port);
                              },
                          .take_away =
                              [session, close] {
                                if (session->device != nullptr) close();
                              }});
}

bool MemifRelay::MayTalkTo(const OwnedFd& peer) {
  const absl::Status status = CheckPeer(outside_, peer);
  if (status.ok()) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now >= next_log_line_) {
    next_log_line_ = now + kLogEvery;
    std::fprintf(stderr, "bfly: memif: %s\n", std::string(status.message()).c_str());
  }
  return false;
}

void MemifRelay::AcceptPeers() {
  while (OwnedFd peer = AcceptFrom(outside_listener_)) {
    if (!MayTalkTo(peer)) continue;
    if (sessions_.size() >= kMostSessions) continue;
    auto driver =
        ConnectTo({.path = absl::StrCat("/proc/self/fd/", drivers_socket_.get())}, SOCK_SEQPACKET);
    if (driver.ok()) Begin(std::move(peer), *std::move(driver));
  }
}

void MemifRelay::AcceptDriver() {
  while (OwnedFd driver = AcceptFrom(inside_listener_)) {
    if (!IsThisProcess(driver) || !answer_) continue;
    Begin(std::exchange(answer_, OwnedFd()), std::move(driver));
  }
}

void MemifRelay::Serve() {
  if (devices_.empty()) return;
  server_ ? AcceptPeers() : AcceptDriver();
  std::erase_if(sessions_,
                [](const std::unique_ptr<Session>& session) { return !session->channel->Serve(); });
}

void MemifRelay::Tend() {
  if (server_ || devices_.empty() || !sessions_.empty() || answer_) return;
  auto answer = ConnectTo(outside_, SOCK_SEQPACKET);
  if (!answer.ok() || !MayTalkTo(*answer)) return;
  answer_ = *std::move(answer);
  // The driver of a client connects only when it starts, so it is stopped and started. No worker is
  // inside the driver, because the gate is closed between two connections.
  const uint16_t port = devices_.begin()->second.port;
  if (rte_eth_dev_stop(port) != 0 || rte_eth_dev_start(port) != 0) answer_.Reset();
}

void MemifRelay::AppendFds(std::vector<int>& fds) const {
  for (const OwnedFd* listener : {&outside_listener_, &inside_listener_}) {
    if (*listener) fds.push_back(listener->get());
  }
  for (const auto& session : sessions_) {
    for (int fd : {session->channel->peer_fd(), session->channel->driver_fd()}) {
      if (fd >= 0) fds.push_back(fd);
    }
  }
}

}  // namespace bfly::dataplane
