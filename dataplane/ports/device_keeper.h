// SPDX-License-Identifier: Apache-2.0
// The thread that keeps the devices of a fabric in touch with what is on their other side: it
// carries the control channels of memif peers, and looks after devices ten times a second.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/ports/memif_relay.h"
#include "dataplane/runtime/owned_fd.h"

namespace bfly::dataplane {

class AttachedDevice;

class DeviceKeeper {
 public:
  // `wait_for_workers` returns when no worker uses a device whose gate was closed before the call.
  // It is called from the keeper's thread.
  explicit DeviceKeeper(std::function<void()> wait_for_workers);
  ~DeviceKeeper() { Stop(); }

  // The relay at the socket of `device`: one for all servers of a socket, one for each client.
  absl::StatusOr<std::shared_ptr<MemifRelay>> RelayAt(const MemifDevice& device);

  void WaitForWorkers() const { wait_for_workers_(); }

  // While the thread does not run.
  void Add(AttachedDevice* device) { devices_.push_back(device); }
  void Remove(AttachedDevice* device) { std::erase(devices_, device); }

  // The thread calls it ten times a second too.
  void AlsoDo(std::function<void()> chore) { chores_.push_back(std::move(chore)); }

  // After the workers have started, and after they have stopped.
  void Start();
  void Stop();

 private:
  void Run(const std::stop_token& stop);

  const std::function<void()> wait_for_workers_;
  std::vector<std::weak_ptr<MemifRelay>> relays_;
  std::vector<AttachedDevice*> devices_;
  std::vector<std::function<void()>> chores_;
  OwnedFd wake_;
  std::jthread thread_;
};

}  // namespace bfly::dataplane
