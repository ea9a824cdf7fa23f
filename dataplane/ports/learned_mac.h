// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "dataplane/frames/mac_address.h"

namespace bfly::dataplane {

// The address of the host behind a port of one row: receiving workers write what they see, the
// transmitting ones read. One word, so no worker waits; relaxed, because nothing else hangs on it.
struct LearnedMac {
  std::atomic<MacAddress> host{0};
  // Where frames for the host go until its address is known; 0: they keep the row's address, as a
  // tester wants it.
  MacAddress until_known = 0;

  void Learn(MacAddress mac) {
    if (mac != 0 && host.load(std::memory_order_relaxed) != mac) {
      host.store(mac, std::memory_order_relaxed);
    }
  }
  MacAddress Get() const {
    const MacAddress known = host.load(std::memory_order_relaxed);
    return known != 0 ? known : until_known;
  }
};

}  // namespace bfly::dataplane
