// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/device_keeper.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "dataplane/ports/attached_device.h"

namespace bfly::dataplane {
namespace {

constexpr std::chrono::milliseconds kLookEvery{100};

}  // namespace

DeviceKeeper::DeviceKeeper(std::function<void()> wait_for_workers)
    : wait_for_workers_(std::move(wait_for_workers)), wake_(eventfd(0, EFD_CLOEXEC)) {}

absl::StatusOr<std::shared_ptr<MemifRelay>> DeviceKeeper::RelayAt(const MemifDevice& device) {
  for (const std::weak_ptr<MemifRelay>& known : relays_) {
    const std::shared_ptr<MemifRelay> relay = known.lock();
    if (relay != nullptr && relay->server() && device.server &&
        relay->socket().Text() == device.socket.Text()) {
      return relay;
    }
  }
  std::erase_if(relays_, [](const std::weak_ptr<MemifRelay>& known) { return known.expired(); });
  auto opened = MemifRelay::Open(device, wait_for_workers_);
  if (!opened.ok()) return opened.status();
  std::shared_ptr<MemifRelay> relay = *std::move(opened);
  relays_.push_back(relay);
  return relay;
}

void DeviceKeeper::Do(const std::function<void()>& task) {
  if (!thread_.joinable() || thread_.get_id() == std::this_thread::get_id()) return task();
  std::packaged_task<void()> packaged(task);
  std::future<void> done = packaged.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(packaged));
  }
  eventfd_write(wake_.get(), 1);
  done.wait();
}

void DeviceKeeper::DoTasks() {
  for (;;) {
    std::packaged_task<void()> task;
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

void DeviceKeeper::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void DeviceKeeper::Stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void DeviceKeeper::Run(const std::stop_token& stop) {
  auto next_look = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    DoTasks();
    const auto now = std::chrono::steady_clock::now();
    const bool look = now >= next_look;
    if (look) next_look = now + kLookEvery;
    std::vector<int> fds;
    for (const std::weak_ptr<MemifRelay>& known : relays_) {
      const std::shared_ptr<MemifRelay> relay = known.lock();
      if (relay == nullptr) continue;
      if (look) relay->Tend();
      relay->Serve();
      relay->AppendFds(fds);
    }
    if (look) {
      for (AttachedDevice* device : devices_) device->Tend();
      for (const std::function<void()>& chore : chores_) chore();
    }
    std::vector<pollfd> waits = {{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    for (int fd : fds) waits.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    poll(waits.data(), waits.size(), static_cast<int>(kLookEvery.count()));
    eventfd_t asked;
    if (waits[0].revents != 0) eventfd_read(wake_.get(), &asked);
  }
}

}  // namespace bfly::dataplane
