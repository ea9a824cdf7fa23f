// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/delay_sink.h"

#include <algorithm>

#include "dataplane/virtual_clock/packet_vectors.h"
#include "dataplane/virtual_clock/virtual_fabric.h"

namespace bfly::dataplane {

DelaySink::DelaySink(const WordLayout& words, Ticks start, Ticks end, int batches, size_t classes,
                     Ticks unit)
    : words_(words),
      start_(start),
      end_(end),
      batch_length_((end - start + batches - 1) / batches),
      unit_(static_cast<double>(unit)),
      batches_(batches),
      classes_(classes > 1 ? classes : 0) {}

void DelaySink::Take(PacketList list, std::span<const Ticks> inner) {
  delivered_ += list.count;
  early_ += CountBefore(list, inner);
#if BFLY_HAS_PACKET_VECTORS
  if (HasPacketVectors() && list.occupied != 0) {
    for (uint32_t at = 0; at < list.count; at += kVector) {
      const uint32_t count = std::min<uint32_t>(list.count - at, kVector);
      if (!MeasureVector(list.first + at, count)) Measure(list.first + at, count);
    }
    return;
  }
#endif
  Measure(list.first, list.count);
}

void DelaySink::Measure(const VirtualPacket* packets, uint32_t count) {
  for (const VirtualPacket* packet = packets; packet != packets + count; ++packet) {
    const Ticks birth = words_.BirthOf(packet->word, words_.hops);
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
    if (!classes_.empty()) {
      Batch& of_class = classes_[words_.ClassOf(packet->word, words_.hops)];
      ++of_class.packets;
      of_class.delay += delay;
    }
    max_delay_ = std::max(max_delay_, delay);
    histogram_.Add(delay);
  }
}

#if BFLY_HAS_PACKET_VECTORS
BFLY_PACKET_VECTORS bool DelaySink::MeasureVector(const VirtualPacket* packets, uint32_t count) {
  if (batch_ == nullptr) return false;
  const auto valid = static_cast<__mmask8>((1u << count) - 1);
  const PacketVector vector = LoadPackets(packets);
  const __m512i births = _mm512_srl_epi64(vector.words, _mm_cvtsi32_si128(words_.hops));
  const Ticks batch_end = std::min(batch_start_ + batch_length_, end_);
  const __m512i ages =
      _mm512_sub_epi64(births, _mm512_set1_epi64(static_cast<int64_t>(batch_start_)));
  const __m512i delays = _mm512_maskz_sub_epi64(valid, vector.times, births);
  const __mmask8 others = _mm512_mask_cmpge_epu64_mask(
      valid, ages, _mm512_set1_epi64(static_cast<int64_t>(batch_end - batch_start_)));
  const auto longest = static_cast<Ticks>(_mm512_reduce_max_epu64(delays));
  if (others != 0 || longest >= Ticks{1} << 60) return false;
  max_delay_ = std::max(max_delay_, longest);
  batch_->packets += count;
  measured_ += count;
  batch_->delay += static_cast<Ticks>(_mm512_reduce_add_epi64(delays));
  // DelayHistogram::BucketOf; values in the first bucket's range have a shift of 0.
  constexpr int kSubBits = DelayHistogram::kSubBits;
  const __m512i shifts = _mm512_max_epi64(
      _mm512_sub_epi64(_mm512_set1_epi64(63 - kSubBits), _mm512_lzcnt_epi64(delays)),
      _mm512_setzero_si512());
  uint64_t buckets[kVector];
  _mm512_storeu_si512(buckets, _mm512_add_epi64(_mm512_slli_epi64(shifts, kSubBits),
                                                _mm512_srlv_epi64(delays, shifts)));
  for (uint32_t i = 0; i < count; ++i) histogram_.AddTo(buckets[i]);
  return true;
}
#endif

void DelaySink::Merge(const DelaySink& other) {
  for (size_t i = 0; i < batches_.size(); ++i) {
    batches_[i].packets += other.batches_[i].packets;
    batches_[i].delay += other.batches_[i].delay;
  }
  for (size_t i = 0; i < classes_.size(); ++i) {
    classes_[i].packets += other.classes_[i].packets;
    classes_[i].delay += other.classes_[i].delay;
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
  for (const Batch& of_class : classes_) {
    const double sum = static_cast<double>(of_class.delay) / unit_;
    result.class_delay.push_back(
        of_class.packets == 0 ? 0 : sum / static_cast<double>(of_class.packets));
  }
  if (measured_ == 0) return;
  result.mean_delay = delay / static_cast<double>(measured_);
  result.p50 = static_cast<double>(histogram_.Quantile(0.50)) / unit_;
  result.p99 = static_cast<double>(histogram_.Quantile(0.99)) / unit_;
  result.max = static_cast<double>(max_delay_) / unit_;
}

}  // namespace bfly::dataplane
