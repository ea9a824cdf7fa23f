// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "dataplane/ports/mac_address.h"

namespace bfly::dataplane {

// The address of the host behind a port of one row: receiving workers write what they see, the
// transmitting ones read. One word, so no worker waits; relaxed, because nothing else hangs on it.
struct LearnedMac {
  std::atomic<MacAddress> host{0};

  void Learn(MacAddress mac) {
    if (mac != 0 && host.load(std::memory_order_relaxed) != mac) {
      host.store(mac, std::memory_order_relaxed);
    }
  }
  MacAddress Get() const { return host.load(std::memory_order_relaxed); }
};

}  // namespace bfly::dataplane
