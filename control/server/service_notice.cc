// SPDX-License-Identifier: Apache-2.0
#include "control/server/service_notice.h"

#include <systemd/sd-daemon.h>

#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace bfly::control {
ServiceNotice::ServiceNotice() : has_listener_(std::getenv("NOTIFY_SOCKET") != nullptr) {
  uint64_t microseconds = 0;
  if (sd_watchdog_enabled(/*unset_environment=*/0, &microseconds) > 0) {
    watchdog_ = std::chrono::milliseconds(microseconds / 1000);
  }
}

void ServiceNotice::Ready(const std::string& status) {
  status_ = status;
  sd_notify(/*unset_environment=*/0, absl::StrCat("READY=1\nSTATUS=", status).c_str());
}

void ServiceNotice::SetStatus(const std::string& status) {
  if (status == status_) return;
  status_ = status;
  sd_notify(/*unset_environment=*/0, absl::StrCat("STATUS=", status).c_str());
}

void ServiceNotice::Stopping() { sd_notify(/*unset_environment=*/0, "STOPPING=1\nSTATUS=ending"); }

void ServiceNotice::Alive() { sd_notify(/*unset_environment=*/0, "WATCHDOG=1"); }

}  // namespace bfly::control
