// SPDX-License-Identifier: Apache-2.0
// The end of every path under the virtual clock: counts deliveries and measures delays.
#pragma once

#include <vector>

#include "dataplane/virtual_clock/boundary.h"
#include "dataplane/virtual_clock/delay_histogram.h"

namespace bfly::dataplane {

struct VirtualResult;

class DelaySink {
 public:
  // Measures packets born in [start, end), in `batches` parts of equal length. unit: ticks of a
  // unit.
  DelaySink(size_t rows, Ticks start, Ticks end, int batches, Ticks unit);

  // Takes all packets of the boundary after the last stage.
  void TakeWindow(const Boundary& in);

  uint64_t delivered() const { return delivered_; }
  uint64_t measured() const { return measured_; }
  void Report(VirtualResult& result) const;

 private:
  struct Batch {
    uint64_t packets = 0;
    uint64_t delay = 0;  // ticks
  };

  const size_t rows_;
  const Ticks start_;
  const Ticks end_;
  const Ticks batch_length_;
  const double unit_;
  std::vector<Batch> batches_;
  DelayHistogram histogram_;
  Ticks max_delay_ = 0;
  uint64_t delivered_ = 0;
  uint64_t measured_ = 0;  // of those, born in [start, end)
};

}  // namespace bfly::dataplane
