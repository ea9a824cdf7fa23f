// SPDX-License-Identifier: Apache-2.0
// What a daemon tells the service manager that started it (sd_notify(3) of systemd).
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace bfly::control {

// Does nothing in a process that no service manager listens to. One thread uses it.
class ServiceNotice {
 public:
  ServiceNotice();

  bool has_listener() const { return has_listener_; }

  // The daemon serves from now on.
  void Ready(const std::string& status);
  // What `systemctl status` shows. Sends only what is new.
  void SetStatus(const std::string& status);
  void Stopping();
  // How long the service manager waits for Alive before it ends the process; nothing: for ever.
  std::optional<std::chrono::milliseconds> watchdog() const { return watchdog_; }
  // The work of the daemon goes on.
  void Alive();

 private:
  const bool has_listener_;
  std::optional<std::chrono::milliseconds> watchdog_;
  std::string status_;
};

}  // namespace bfly::control
