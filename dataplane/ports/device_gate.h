// SPDX-License-Identifier: Apache-2.0
// Workers reach a device through its gate only. The gate is closed while the driver lets go of
// memory, and while the device is gone.
#pragma once

#include <atomic>
#include <cstdint>

namespace bfly::dataplane {

// A worker loads the gate once a burst and does not touch a closed device. Control closes the gate
// and waits until every worker has begun another pass; then no worker is inside the driver.
class DeviceGate {
 public:
  static constexpr uint32_t kClosed = UINT32_MAX;

  // Worker: the ethdev id, or kClosed.
  uint32_t device() const { return device_.load(std::memory_order_acquire); }

  // Control: open and close the gate.
  void Open(uint16_t device) { device_.store(device, std::memory_order_release); }
  void Close() { device_.store(kClosed, std::memory_order_seq_cst); }
  bool open() const { return device() != kClosed; }

 private:
  std::atomic<uint32_t> device_{kClosed};  // control: writes, workers: acquire loads
};

}  // namespace bfly::dataplane
