// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/delay_sink.h"

#include <algorithm>

#include "dataplane/virtual_clock/virtual_fabric.h"

namespace bfly::dataplane {

DelaySink::DelaySink(size_t rows, Ticks start, Ticks end, int batches, Ticks unit)
    : rows_(rows),
      start_(start),
      end_(end),
      batch_length_((end - start + batches - 1) / batches),
      unit_(static_cast<double>(unit)),
      batches_(batches) {}

void DelaySink::TakeWindow(const Boundary& in) {
  for (size_t list = 0; list < 2 * rows_; ++list) {
    const VirtualPacket* packet = in.begin(list);
    const VirtualPacket* end = packet + in.count(list);
    delivered_ += in.count(list);
    for (; packet != end; ++packet) {
      if (packet->birth < start_ || packet->birth >= end_) continue;
      const Ticks delay = packet->time - packet->birth;
      Batch& batch = batches_[(packet->birth - start_) / batch_length_];
      ++batch.packets;
      ++measured_;
      batch.delay += delay;
      max_delay_ = std::max(max_delay_, delay);
      histogram_.Add(delay);
    }
  }
}

void DelaySink::Report(VirtualResult& result) const {
  double delay = 0;
  for (const Batch& batch : batches_) {
    const double sum = static_cast<double>(batch.delay) / unit_;
    result.batches.push_back({batch.packets, sum});
    delay += sum;
  }
  result.measured = measured_;
  if (measured_ == 0) return;
  result.mean_delay = delay / static_cast<double>(measured_);
  result.p50 = static_cast<double>(histogram_.Quantile(0.50)) / unit_;
  result.p99 = static_cast<double>(histogram_.Quantile(0.99)) / unit_;
  result.max = static_cast<double>(max_delay_) / unit_;
}

}  // namespace bfly::dataplane
