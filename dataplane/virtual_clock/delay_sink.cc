// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/delay_sink.h"

#include <algorithm>

#include "dataplane/virtual_clock/virtual_fabric.h"

namespace bfly::dataplane {

DelaySink::DelaySink(int hops, Ticks start, Ticks end, int batches, Ticks unit)
    : hops_(hops),
      start_(start),
      end_(end),
      batch_length_((end - start + batches - 1) / batches),
      unit_(static_cast<double>(unit)),
      batches_(batches) {}

void DelaySink::Take(PacketList list) {
  delivered_ += list.count;
  const VirtualPacket* const end = list.first + list.count;
  for (const VirtualPacket* packet = list.first; packet != end; ++packet) {
    const Ticks birth = BirthOf(packet->word, hops_);
    if (birth < start_ || birth >= end_) continue;
    if (batch_ == nullptr || birth - batch_start_ >= batch_length_) {
      const Ticks number = (birth - start_) / batch_length_;
      batch_ = &batches_[number];
      batch_start_ = start_ + number * batch_length_;
    }
    const Ticks delay = packet->time - birth;
    ++batch_->packets;
    ++measured_;
    batch_->delay += delay;
    max_delay_ = std::max(max_delay_, delay);
    histogram_.Add(delay);
  }
}

void DelaySink::Merge(const DelaySink& other) {
  for (size_t i = 0; i < batches_.size(); ++i) {
    batches_[i].packets += other.batches_[i].packets;
    batches_[i].delay += other.batches_[i].delay;
  }
  histogram_.Merge(other.histogram_);
  max_delay_ = std::max(max_delay_, other.max_delay_);
  delivered_ += other.delivered_;
  measured_ += other.measured_;
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
