// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "dataplane/frames/mac_address.h"

namespace bfly::dataplane {

// The address of the host behind a port of one row. Receiving workers write the addresses that they
// see, transmitting workers read them. It is one word, so no worker waits; accesses are relaxed,
// because no other data depends on it.
struct LearnedMac {
  std::atomic<MacAddress> host{0};
  // The destination of frames for the host until its address is known. 0: frames keep the row's
  // address, as testers expect.
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
