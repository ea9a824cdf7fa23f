// SPDX-License-Identifier: Apache-2.0
// What DPDK writes to its log while a device is opened is the best explanation of a failure there
// is.
#pragma once

#include <string>

namespace bfly::dataplane {

// While one lives, DPDK's log lines are collected; they still reach the log. One at a time.
class DpdkLogCapture {
 public:
  DpdkLogCapture();
  ~DpdkLogCapture();
  DpdkLogCapture(const DpdkLogCapture&) = delete;
  DpdkLogCapture& operator=(const DpdkLogCapture&) = delete;

  // The last lines, joined by "; ", or `if_silent` if DPDK wrote none.
  std::string LastLines(const std::string& if_silent) const;
};

}  // namespace bfly::dataplane
