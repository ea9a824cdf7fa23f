// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/delay_sink.h"

#include <algorithm>
#include <bit>

#include "dataplane/virtual_clock/packet_vectors.h"
#include "dataplane/virtual_clock/virtual_fabric.h"

namespace bfly::dataplane {

#if BFLY_HAS_PACKET_VECTORS
namespace {

BFLY_PACKET_VECTORS inline __m512i InLanes(Ticks value) {
  return _mm512_set1_epi64(static_cast<int64_t>(value));
}

}  // namespace
#endif

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
      MeasureVector(list.first + at, count);
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
    TurnTo(birth);
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
BFLY_PACKET_VECTORS void DelaySink::MeasureVector(const VirtualPacket* packets, uint32_t count) {
  const auto valid = static_cast<__mmask8>((1u << count) - 1);
  const PacketVector vector = LoadPackets(packets);
  const __m512i births = _mm512_srl_epi64(vector.words, _mm_cvtsi32_si128(words_.hops));
  const __m512i since = _mm512_sub_epi64(births, InLanes(start_));
  const __mmask8 counted = _mm512_mask_cmplt_epu64_mask(valid, since, InLanes(end_ - start_));
  const auto lanes = static_cast<uint32_t>(_cvtmask8_u32(counted));
  if (lanes == 0) return;
  const __m512i delays = _mm512_maskz_sub_epi64(counted, vector.times, births);
  const auto longest = static_cast<Ticks>(_mm512_reduce_max_epu64(delays));
  if (longest >= Ticks{1} << 60) {  // the sum of eight may pass 2^64
    Measure(packets, count);
    return;
  }
  const auto number = static_cast<uint64_t>(std::popcount(lanes));
  max_delay_ = std::max(max_delay_, longest);
  measured_ += number;
  // DelayHistogram::BucketOf; values in the first bucket's range have a shift of 0.
  constexpr int kSubBits = DelayHistogram::kSubBits;
  const __m512i shifts = _mm512_max_epi64(
      _mm512_sub_epi64(_mm512_set1_epi64(63 - kSubBits), _mm512_lzcnt_epi64(delays)),
      _mm512_setzero_si512());
  uint64_t buckets[kVector];
  _mm512_storeu_si512(buckets, _mm512_add_epi64(_mm512_slli_epi64(shifts, kSubBits),
                                                _mm512_srlv_epi64(delays, shifts)));
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    histogram_.AddTo(buckets[std::countr_zero(left)]);
  }
  const __m512i ages = _mm512_sub_epi64(births, InLanes(batch_start_));
  if (batch_ != nullptr &&
      _mm512_mask_cmpge_epu64_mask(counted, ages, InLanes(batch_length_)) == 0) {
    batch_->packets += number;
    batch_->delay += static_cast<Ticks>(_mm512_reduce_add_epi64(delays));
    return;
  }
  // There are at most 10,000 batches, so the quotient in floating point is at most off by one.
  const __m512d quotients =
      _mm512_div_pd(_mm512_cvtepu64_pd(since), _mm512_set1_pd(static_cast<double>(batch_length_)));
  __m512i in_batch = _mm512_cvttpd_epu64(quotients);
  const __m512i begins = _mm512_mullo_epi64(in_batch, InLanes(batch_length_));
  in_batch = _mm512_mask_sub_epi64(in_batch, _mm512_cmpgt_epu64_mask(begins, since), in_batch,
                                   _mm512_set1_epi64(1));
  in_batch = _mm512_mask_add_epi64(
      in_batch, _mm512_cmple_epu64_mask(_mm512_add_epi64(begins, InLanes(batch_length_)), since),
      in_batch, _mm512_set1_epi64(1));
  uint64_t numbers[kVector], delay_of[kVector];
  _mm512_storeu_si512(numbers, in_batch);
  _mm512_storeu_si512(delay_of, delays);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    batch_ = &batches_[numbers[lane]];
    ++batch_->packets;
    batch_->delay += delay_of[lane];
    batch_start_ = start_ + numbers[lane] * batch_length_;
  }
}
#endif

#if BFLY_HAS_NARROW_VECTORS
namespace {

BFLY_NARROW_VECTORS inline __m256i Lanes(Ticks value) {
  return _mm256_set1_epi64x(static_cast<int64_t>(value));
}
// Whether bits are set in all lanes.
BFLY_NARROW_VECTORS inline bool All(__m256i lanes) {
  return _mm256_movemask_pd(_mm256_castsi256_pd(lanes)) == 0xF;
}
// Lanes with begin <= value < begin + length, where no number passes 2^63.
BFLY_NARROW_VECTORS inline __m256i Within(__m256i value, Ticks begin, Ticks length) {
  const __m256i since = _mm256_sub_epi64(value, Lanes(begin));
  return _mm256_andnot_si256(_mm256_cmpgt_epi64(_mm256_setzero_si256(), since),
                             _mm256_cmpgt_epi64(Lanes(length), since));
}

}  // namespace

BFLY_NARROW_VECTORS void DelaySink::TakeNarrow(const Ticks* times, const PacketWord* words,
                                               uint32_t count, std::span<const Ticks> inner) {
  constexpr uint32_t kHalfVector = 4;
  constexpr int kSubBits = DelayHistogram::kSubBits;
  delivered_ += count;
  const __m256i numbers = _mm256_setr_epi64x(0, 1, 2, 3), ones = _mm256_set1_epi64x(-1);
  const __m128i hops = _mm_cvtsi32_si128(words_.hops);
  __m256i early = _mm256_setzero_si256(), sum = early, longest = early;
  uint64_t summed = 0;
  for (uint32_t at = 0; at < count; at += kHalfVector) {
    const uint32_t here = std::min(count - at, kHalfVector);
    const __m256i valid = _mm256_cmpgt_epi64(Lanes(here), numbers);
    const __m256i time = WordTable::Load(times + at);
    for (const Ticks before : inner) {
      early =
          _mm256_sub_epi64(early, _mm256_and_si256(valid, _mm256_cmpgt_epi64(Lanes(before), time)));
    }
    const __m256i birth = _mm256_srl_epi64(WordTable::Load(words + at), hops);
    const __m256i others = _mm256_xor_si256(valid, ones);
    const __m256i counted = _mm256_and_si256(valid, Within(birth, start_, end_ - start_));
    if (_mm256_testz_si256(counted, counted) != 0) continue;
    const __m256i delay = _mm256_sub_epi64(time, birth);
    const __m256i plain = _mm256_and_si256(
        counted, Within(delay, Ticks{1} << kSubBits, (Ticks{1} << 52) - (Ticks{1} << kSubBits)));
    if (!All(_mm256_or_si256(plain, others))) {
      // Measure may turn to a batch to which the sum does not belong.
      AddSum(sum, summed);
      VirtualPacket packets[kHalfVector];
      for (uint32_t i = 0; i < here; ++i) packets[i] = {times[at + i], words[at + i]};
      Measure(packets, here);
      continue;
    }
    const __m256i measured = _mm256_and_si256(delay, valid);
    if (batch_ != nullptr &&
        All(_mm256_or_si256(Within(birth, batch_start_, batch_length_), others))) {
      sum = _mm256_add_epi64(sum, measured);
      summed += here;
    } else {
      Ticks births[kHalfVector], delays[kHalfVector];
      WordTable::Store(births, birth);
      WordTable::Store(delays, delay);
      AddSum(sum, summed);
      for (uint32_t i = 0; i < here; ++i) {
        TurnTo(births[i]);
        ++batch_->packets;
        batch_->delay += delays[i];
      }
    }
    longest = _mm256_blendv_epi8(longest, measured, _mm256_cmpgt_epi64(measured, longest));
    measured_ += here;
    // DelayHistogram::BucketOf: the exponent and the first bits behind it of the delay as a double.
    const __m256d whole =
        _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(delay, Lanes(0x4330000000000000))),
                      _mm256_set1_pd(0x1p52));
    const __m256i buckets =
        _mm256_sub_epi64(_mm256_srli_epi64(_mm256_castpd_si256(whole), 52 - kSubBits),
                         Lanes(Ticks{1023 + kSubBits - 1} << kSubBits));
    uint64_t bucket[kHalfVector];
    WordTable::Store(bucket, buckets);
    for (uint32_t i = 0; i < here; ++i) histogram_.AddTo(bucket[i]);
  }
  Ticks lanes[kHalfVector];
  WordTable::Store(lanes, early);
  for (const Ticks lane : lanes) early_ += lane;
  WordTable::Store(lanes, longest);
  for (const Ticks lane : lanes) max_delay_ = std::max(max_delay_, lane);
  AddSum(sum, summed);
}

BFLY_NARROW_VECTORS void DelaySink::AddSum(__m256i& delays, uint64_t& packets) {
  if (packets == 0) return;
  Ticks lanes[4];
  WordTable::Store(lanes, delays);
  batch_->packets += packets;
  for (const Ticks lane : lanes) batch_->delay += lane;
  delays = _mm256_setzero_si256();
  packets = 0;
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
    result.class_measured.push_back(of_class.packets);
  }
  if (measured_ == 0) return;
  result.mean_delay = delay / static_cast<double>(measured_);
  result.p50 = static_cast<double>(histogram_.Quantile(0.50)) / unit_;
  result.p99 = static_cast<double>(histogram_.Quantile(0.99)) / unit_;
  result.max = static_cast<double>(max_delay_) / unit_;
}

}  // namespace bfly::dataplane
