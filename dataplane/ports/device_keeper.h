// SPDX-License-Identifier: Apache-2.0
// The thread that tends the devices of a fabric: it carries the control channels of memif peers,
// and checks devices ten times a second.
#pragma once

#include <deque>
#include <functional>
#include <future>
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
  // The keeper's thread calls it.
  explicit DeviceKeeper(std::function<void()> wait_for_workers);
  ~DeviceKeeper() { Stop(); }

  // Returns the relay for the socket of `device`. All servers of a socket share one; each client
  // has its own.
  absl::StatusOr<std::shared_ptr<MemifRelay>> RelayAt(const MemifDevice& device);

  void WaitForWorkers() const { wait_for_workers_(); }

  // Call these before Start, after Stop, or in a task of Do.
  void Add(AttachedDevice* device) { devices_.push_back(device); }
  void Remove(AttachedDevice* device) { std::erase(devices_, device); }

  // Adds a chore that the thread runs ten times a second.
  void AddChore(std::function<void()> chore) { chores_.push_back(std::move(chore)); }

  // Runs `task` on the keeper's thread, and returns when it has ended. If the thread does not run,
  // or if it is the caller, the calling thread runs the task. Devices are opened and closed in such
  // tasks, so that no two threads tend them at once. Callers take turns, also with Start and Stop.
  void Do(const std::function<void()>& task);

  // Start follows the start of the workers, Stop follows their end.
  void Start();
  void Stop();

 private:
  void Run(const std::stop_token& stop);
  void DoTasks();

  const std::function<void()> wait_for_workers_;
  std::vector<std::weak_ptr<MemifRelay>> relays_;
  std::vector<AttachedDevice*> devices_;
  std::vector<std::function<void()>> chores_;
  std::mutex mutex_;
  std::deque<std::packaged_task<void()>> tasks_;  // mutex_
  OwnedFd wake_;
  std::jthread thread_;
};

}  // namespace bfly::dataplane
