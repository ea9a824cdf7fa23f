// SPDX-License-Identifier: Apache-2.0
// Relays the control channels of the memif devices at one socket. bfly has the socket that peers
// know, DPDK's driver has a socket that no other process can reach, and sessions carry messages
// between the two.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/ports/device_gate.h"
#include "dataplane/ports/memif_session.h"
#include "dataplane/ports/unix_socket.h"

namespace bfly::dataplane {

// A memif device string, with the driver's defaults for arguments that it leaves out.
struct MemifDevice {
  UnixAddress socket;
  uint32_t id = 0;
  bool server = false;

  // Reads "net_memif0,role=server,id=3,socket=/tmp/a.sock,socket-abstract=no". Returns nothing for
  // a device of another driver. InvalidArgument: the id is not a number, which the driver would
  // read as another number, or the role is none.
  static absl::StatusOr<std::optional<MemifDevice>> Of(const std::string& device);
};

// Not thread-safe: one thread at a time.
class MemifRelay {
 public:
  // `wait_for_workers` returns when no worker uses a device whose gate was closed before the call.
  // AlreadyExists: another process has the socket. Unavailable: the socket cannot be created, or no
  // process answers there. PermissionDenied: the server at an abstract socket belongs to another
  // user.
  static absl::StatusOr<std::unique_ptr<MemifRelay>> Open(const MemifDevice& device,
                                                          std::function<void()> wait_for_workers);
  // All devices must have been removed.
  ~MemifRelay();

  // The string for the driver instead of `device`, which uses this relay's socket.
  std::string DriversDevice(const std::string& device) const;

  // Call it after the driver opened the device. From now on a peer that CheckPeer lets in can
  // connect, and `gate` opens once a peer has.
  void Add(uint32_t id, uint16_t port, DeviceGate* gate);
  // Call it before the driver closes the device, and after workers have left it for good. Hangs up.
  void Remove(uint32_t id);

  // Carries the messages that are waiting.
  void Serve();
  // Ten times a second: a client whose server is gone tries to connect again.
  void Tend();
  // The descriptors that Serve waits for.
  void AppendFds(std::vector<int>& fds) const;

  const UnixAddress& socket() const { return outside_; }
  bool server() const { return server_; }

 private:
  struct Device {
    uint16_t port;
    DeviceGate* gate;
  };
  struct Session {
    Device* device = nullptr;  // the device that the messages are about, once it is known
    std::unique_ptr<MemifSession> channel;
  };

  MemifRelay(const MemifDevice& device, std::function<void()> wait_for_workers)
      : outside_(device.socket),
        server_(device.server),
        wait_for_workers_(std::move(wait_for_workers)) {}
  absl::Status MakeInside();
  void HideDriversSocket();
  bool MayTalkTo(const OwnedFd& peer);
  void AcceptPeers();
  void AcceptDriver();
  void Begin(OwnedFd peer, OwnedFd driver);

  const UnixAddress outside_;
  const bool server_;
  const std::function<void()> wait_for_workers_;
  OwnedFd outside_listener_;  // of a server
  OwnedFd inside_listener_;   // of a client
  OwnedFd answer_;  // of a client: the connection to its server, which was made before the driver
                    // asked for it
  UnixAddress inside_;  // the address that the driver knows
  // The directory in which a driver that is the server created its socket. The socket's name is
  // removed, so only this process can reach it, and a crash leaves nothing behind.
  std::string directory_;
  OwnedFd drivers_socket_;
  std::map<uint32_t, Device> devices_;  // by interface id
  std::vector<std::unique_ptr<Session>> sessions_;
  std::chrono::steady_clock::time_point next_log_line_;
};

}  // namespace bfly::dataplane
