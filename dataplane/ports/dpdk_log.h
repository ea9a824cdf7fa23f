// SPDX-License-Identifier: Apache-2.0
// DPDK's log lines while a device is opened are the best available explanation of a failure.
#pragma once

#include <string>

namespace bfly::dataplane {

// Collects DPDK's log lines while it lives. The lines still reach the log. Only one may exist at a
// time.
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
