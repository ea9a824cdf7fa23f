// SPDX-License-Identifier: Apache-2.0
// The end of every path under the virtual clock: counts deliveries and measures delays.
#pragma once

#include <span>
#include <vector>

#include "dataplane/virtual_clock/boundary.h"
#include "dataplane/virtual_clock/class_source.h"
#include "dataplane/virtual_clock/delay_histogram.h"
#include "dataplane/virtual_clock/narrow_vectors.h"

namespace bfly::dataplane {

struct VirtualResult;

class DelaySink {
 public:
  // Measures packets born in [start, end), in `batches` parts of equal length, and in each of
  // `classes` classes. A unit of time has `unit` ticks.
  DelaySink(const WordLayout& words, Ticks start, Ticks end, int batches, size_t classes,
            Ticks unit);

  // Takes packets that left the last stage. inner: as in StageWindow.
  void Take(PacketList list, std::span<const Ticks> inner);
#if BFLY_HAS_NARROW_VECTORS
  // Takes packets whose times and words are in separate arrays. Only with one class. Reads whole
  // vectors.
  void TakeNarrow(const Ticks* times, const PacketWord* words, uint32_t count,
                  std::span<const Ticks> inner);
#endif
  // Adds what another sink of the same measurement took.
  void Merge(const DelaySink& other);

  uint64_t delivered() const { return delivered_; }
  // PacketCount::early, summed over all packets that were taken.
  uint64_t early() const { return early_; }
  uint64_t measured() const { return measured_; }
  void Report(VirtualResult& result) const;
  size_t bytes() const {
    return (batches_.size() + classes_.size()) * sizeof(Batch) + histogram_.bytes();
  }

 private:
  struct Batch {
    uint64_t packets = 0;
    TickSum delay = 0;
  };

  void Measure(const VirtualPacket* packets, uint32_t count);
  // Makes the batch of a birth in [start, end) the batch that is filled.
  void TurnTo(Ticks birth) {
    if (batch_ != nullptr && birth - batch_start_ < batch_length_) return;
    const Ticks number = (birth - start_) / batch_length_;
    batch_ = &batches_[number];
    batch_start_ = start_ + number * batch_length_;
  }
#if BFLY_HAS_NARROW_VECTORS
  // Adds `packets` packets and the sum of their delays, of which each lane has a part, to the
  // batch. Clears both.
  void AddSum(__m256i& delays, uint64_t& packets);
#endif
  // Measures up to eight packets, without classes.
  void MeasureVector(const VirtualPacket* packets, uint32_t count);

  const WordLayout words_;
  const Ticks start_;
  const Ticks end_;
  const Ticks batch_length_;
  const double unit_;
  std::vector<Batch> batches_;
  std::vector<Batch> classes_;  // empty if there is one class
  // The batch of the previous packet. It has the births [batch_start_, batch_start_ +
  // batch_length_).
  Batch* batch_ = nullptr;
  Ticks batch_start_ = 0;
  DelayHistogram histogram_;
  Ticks max_delay_ = 0;
  uint64_t delivered_ = 0;
  uint64_t early_ = 0;
  uint64_t measured_ = 0;  // delivered packets that were born in [start, end)
};

}  // namespace bfly::dataplane
