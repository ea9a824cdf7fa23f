// SPDX-License-Identifier: Apache-2.0
#include "control/agent/update_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "control/server/address.h"

namespace bfly::control {
namespace {

// The number of controllers that may be connected. Usually it is one, or two while one takes over
// from another.
constexpr size_t kMaxClients = 8;
// The pause before the next attempt if no descriptors are left, in milliseconds.
constexpr int kPauseMs = 20;

}  // namespace

absl::StatusOr<uint64_t> UpdateHost(const v1::AgentUpdateRequest& request, FabricHost& host) {
  std::vector<HeldCircuit> install;
  install.reserve(request.install_size());
  for (const v1::AgentCircuit& circuit : request.install()) {
    install.push_back({circuit.input(), circuit.tag(), circuit.id(),
                       circuit.has_object() ? std::optional(circuit.object()) : std::nullopt});
  }
  const std::vector<Row> remove(request.remove().begin(), request.remove().end());
  return host.UpdateCircuits(install, remove, request.base_revision());
}

absl::StatusOr<std::unique_ptr<UpdateSocket>> UpdateSocket::Start(absl::string_view agent_address,
                                                                  FabricHost& host) {
  const std::string path = UpdateSocketPath(agent_address);
  if (path.empty()) return nullptr;
  absl::StatusOr<PacketSocket> listening = PacketSocket::Listen(path);
  if (!listening.ok()) return listening.status();
  absl::StatusOr<SocketFile> file = SocketFile::Open(path);
  if (!file.ok()) return file.status();
  const int stop = eventfd(0, EFD_CLOEXEC);
  if (stop < 0) return absl::ResourceExhaustedError("no file descriptor is left");
  return std::unique_ptr<UpdateSocket>(
      new UpdateSocket(*std::move(file), *std::move(listening), stop, host));
}

UpdateSocket::UpdateSocket(SocketFile file, PacketSocket listening, int stop, FabricHost& host)
    : file_(std::move(file)),
      listening_(std::move(listening)),
      stop_(stop),
      host_(host),
      buffer_(std::make_unique<char[]>(PacketSocket::kMaxMessage)) {
  thread_ = std::thread([this] { Run(); });
}

UpdateSocket::~UpdateSocket() {
  eventfd_write(stop_, 1);
  thread_.join();
  close(stop_);
  unlink(file_.path().c_str());
}

void UpdateSocket::Run() {
  std::vector<PacketSocket> clients;
  std::vector<pollfd> waiting;
  bool pauses = false;  // a connection waits that could not be taken
  for (;;) {
    waiting.assign({{.fd = stop_, .events = POLLIN, .revents = 0},
                    {.fd = clients.size() < kMaxClients && !pauses ? listening_.fd() : -1,
                     .events = POLLIN,
                     .revents = 0}});
    for (const PacketSocket& client : clients) {
      waiting.push_back({.fd = client.fd(), .events = POLLIN, .revents = 0});
    }
    if (poll(waiting.data(), waiting.size(), pauses ? kPauseMs : -1) < 0) continue;  // EINTR
    pauses = false;
    if (waiting[0].revents != 0) return;
    for (size_t i = clients.size(); i-- > 0;) {
      if (waiting[i + 2].revents != 0 && !Serve(clients[i])) clients.erase(clients.begin() + i);
    }
    if (waiting[1].revents == 0) continue;
    absl::StatusOr<PacketSocket> client = listening_.Accept();
    pauses = !client.ok();
    if (client.ok() && CheckPeer(client->fd(), file_).ok()) {
      clients.push_back(*std::move(client));
    }
  }
}

bool UpdateSocket::Serve(const PacketSocket& client) {
  const absl::StatusOr<absl::string_view> message =
      client.Receive({buffer_.get(), PacketSocket::kMaxMessage});
  if (absl::IsDeadlineExceeded(message.status())) return true;  // no message came after all
  if (absl::IsUnavailable(message.status())) return false;
  absl::StatusOr<uint64_t> revision =
      absl::InvalidArgumentError("this is not an AgentUpdateRequest");
  if (!message.ok()) {
    revision = message.status();
  } else if (request_.ParseFromArray(message->data(), static_cast<int>(message->size()))) {
    const absl::Status owns = host_.ownership().Check(request_.owner());
    revision = owns.ok() ? UpdateHost(request_, host_) : owns;
  }
  result_.Clear();
  if (revision.ok()) {
    result_.mutable_response()->set_revision(*revision);
  } else {
    result_.set_code(static_cast<int>(revision.status().code()));
    result_.set_message(std::string(revision.status().message()));
  }
  return result_.SerializeToString(&answer_) && client.Send(answer_).ok();
}

}  // namespace bfly::control
