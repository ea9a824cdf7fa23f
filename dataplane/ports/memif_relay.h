// SPDX-License-Identifier: Apache-2.0
// The control channels of the memif devices at one socket: bfly has the socket that peers know,
// DPDK's driver has one that nobody else can reach, and sessions carry messages between the two.
#pragma once

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

// What a device string says of a memif, with the driver's defaults for what it leaves out.
struct MemifDevice {
  UnixAddress socket;
  uint32_t id = 0;
  bool server = false;

  // Of "net_memif0,role=server,id=3,socket=/tmp/a.sock,socket-abstract=no". Nothing for a device of
  // another driver, and for values that the driver refuses.
  static std::optional<MemifDevice> Of(const std::string& device);
};

// Not thread-safe: one thread at a time.
class MemifRelay {
 public:
  // `wait_for_workers` returns when no worker uses a device whose gate was closed before the call.
  // AlreadyExists or Unavailable: the socket cannot be had, or nobody answers there.
  static absl::StatusOr<std::unique_ptr<MemifRelay>> Open(const MemifDevice& device,
                                                          std::function<void()> wait_for_workers);
  // All devices are gone.
  ~MemifRelay();

  // What to give to the driver in place of `device`, which is at this relay's socket.
  std::string DriversDevice(const std::string& device) const;

  // After the driver opened the device: from now on a peer can connect, and `gate` opens when it
  // has.
  void Add(uint32_t id, uint16_t port, DeviceGate* gate);
  // Before the driver closes the device, and after workers have left it for good: hangs up.
  void Remove(uint32_t id);

  // Carries what there is to carry.
  void Serve();
  // Ten times a second: a client whose server is gone looks for another.
  void Tend();
  // All that Serve may have to look at.
  void AppendFds(std::vector<int>& fds) const;

  const UnixAddress& socket() const { return outside_; }
  bool server() const { return server_; }

 private:
  struct Device {
    uint16_t port;
    DeviceGate* gate;
  };
  struct Session {
    Device* device = nullptr;  // that the messages are about, once that is known
    std::unique_ptr<MemifSession> channel;
  };

  MemifRelay(const MemifDevice& device, std::function<void()> wait_for_workers)
      : outside_(device.socket),
        server_(device.server),
        wait_for_workers_(std::move(wait_for_workers)) {}
  absl::Status MakeInside();
  void HideDriversSocket();
  void AcceptPeers();
  void AcceptDriver();
  void Begin(OwnedFd peer, OwnedFd driver);

  const UnixAddress outside_;
  const bool server_;
  const std::function<void()> wait_for_workers_;
  OwnedFd outside_listener_;  // of a server
  OwnedFd inside_listener_;   // of a client
  OwnedFd answer_;            // of a client: its server's, before the driver asked
  UnixAddress inside_;        // what the driver knows
  // Where a driver that is the server made its socket. The socket has no name any more: nobody but
  // this process can reach it, and a crash leaves nothing behind.
  std::string directory_;
  OwnedFd drivers_socket_;
  std::map<uint32_t, Device> devices_;  // by interface id
  std::vector<std::unique_ptr<Session>> sessions_;
};

}  // namespace bfly::dataplane
