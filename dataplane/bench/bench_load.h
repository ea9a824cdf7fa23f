// SPDX-License-Identifier: Apache-2.0
// The generator and sink of the port bench, on one core. It sends frames into one port as fast as
// the port takes them, and receives from another port what the device under test forwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bfly::dataplane {

struct BenchLoadOptions {
  std::string send_device;
  std::string receive_device;
  std::vector<std::vector<uint8_t>> frames;  // sent in turn
  double warm_up_seconds = 0.2;
  double seconds = 1;
  double link_deadline_seconds = 30;
};

struct BenchLoadResult {
  double seconds = 0;  // the measured time, to which the next four figures belong
  uint64_t offered_bursts = 0;
  uint64_t shortened_bursts = 0;  // bursts cut short because the device's ring was full
  uint64_t sent = 0;
  uint64_t received = 0;
  uint64_t sent_in_all = 0;
  uint64_t received_in_all = 0;
};

// One byte is reported when the measurement begins and one when it ends; the result follows.

// Runs on the calling thread, with EAL up, and reports to the descriptor `report`. Takes no longer
// than the times in `options` and 5 seconds.
absl::Status RunBenchLoad(const BenchLoadOptions& options, int report);

}  // namespace bfly::dataplane
