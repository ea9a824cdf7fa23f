// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/source.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "dataplane/virtual_clock/packet_vectors.h"
#include "topologies/random.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

#if BFLY_HAS_PACKET_VECTORS
// Tags of a batch: prefix | ((choice & mask) ^ flipped).
struct BatchTags {
  Tag prefix;
  uint64_t mask;
  uint64_t flipped;
};

// Writes the packets of a batch that are generated before `end`, from number `first` on. The first
// packet is generated at `next`, which becomes the time of the first packet that is not written.
// Returns how many were written. Spoils the places behind them up to to[7].
BFLY_PACKET_VECTORS uint64_t WriteBatch(const ArrivalBatch& batch, uint64_t first, Ticks& next,
                                        Ticks end, BatchTags tagging, int hops, VirtualPacket* to) {
  const auto wanted = static_cast<__mmask8>(0xFFu << first);
  const __m512i zero = _mm512_setzero_si512();
  const __m512i gaps = _mm512_maskz_loadu_epi64(wanted, batch.gap);
  __m512i sums = _mm512_add_epi64(gaps, _mm512_alignr_epi64(gaps, zero, 7));
  sums = _mm512_add_epi64(sums, _mm512_alignr_epi64(sums, zero, 6));
  sums = _mm512_add_epi64(sums, _mm512_alignr_epi64(sums, zero, 4));
  const __m512i after = _mm512_add_epi64(sums, _mm512_set1_epi64(static_cast<int64_t>(next)));
  const __m512i times = _mm512_sub_epi64(after, gaps);
  const __mmask8 before_end =
      _mm512_mask_cmplt_epu64_mask(wanted, times, _mm512_set1_epi64(static_cast<int64_t>(end)));
  const __m512i mask = _mm512_set1_epi64(static_cast<int64_t>(tagging.mask));
  const __m512i flipped = _mm512_set1_epi64(static_cast<int64_t>(tagging.flipped));
  const __m512i prefix = _mm512_set1_epi64(static_cast<int64_t>(tagging.prefix));
  const __m512i last =
      _mm512_xor_si512(_mm512_and_si512(_mm512_loadu_si512(batch.choice), mask), flipped);
  const __m512i tags =
      _mm512_sll_epi64(_mm512_or_si512(last, prefix), _mm_cvtsi32_si128(64 - hops));
  const __m512i births =
      _mm512_and_si512(times, _mm512_set1_epi64(static_cast<int64_t>(~uint64_t{0} >> hops)));
  StorePackets(to, {_mm512_maskz_compress_epi64(wanted, times),
                    _mm512_maskz_compress_epi64(wanted, _mm512_or_si512(tags, births))});
  Ticks ends[kVector];
  _mm512_storeu_si512(ends, after);
  const auto count = static_cast<uint64_t>(std::popcount(static_cast<uint32_t>(before_end)));
  next = ends[first + count - 1];
  return count;
}
#endif

}  // namespace

VirtualSource::VirtualSource(const Network& network, const ArrivalConfig& config,
                             DestinationPattern pattern, Ticks unit, Ticks slot)
    : network_(network),
      config_(config),
      pattern_(std::move(pattern)),
      mean_gap_(static_cast<double>(unit) / config.rate),
      slot_(slot),
      rows_(network.rows()) {
  const bool constant = config_.process == ArrivalConfig::Process::kConstant;
  ArrivalBatch batch;
  for (Row row = 0; row < network.rows(); ++row) {
    const uint64_t random = Random64(config_.seed, RandomStream::kFirstArrival, row);
    if (constant) {
      rows_[row].next = ToTicksBeforeFar(static_cast<double>(random >> 11) * 0x1p-53 * mean_gap_);
    } else {
      // The gap before packet 0 is the first of a batch that the row's packets never reach.
      DrawArrivals(config_.seed, CounterOf(row, kPacketsOfARow - kArrivalBatch), mean_gap_, batch);
      rows_[row].next = batch.gap[0];
    }
  }
}

Tag VirtualSource::PrefixOf(Row row) const {
  if (network_.extra_hops() > 0) return 0;
  // Packets have no circuits, so their words say directions only.
  return network_.tag_layout().Directions(GreedyTag(network_, row, 0));
}

void VirtualSource::DrawDirections(Row row, uint64_t counter,
                                   uint64_t choice[kArrivalBatch]) const {
  pattern_.Draw(row, config_.seed, counter, choice);
  for (int i = 0; i < kArrivalBatch; ++i) {
    choice[i] = LastDirectionsOf(network_, static_cast<Row>(choice[i]));
  }
  const int extra = network_.extra_hops();
  for (int i = 0; i < kArrivalBatch && extra > 0; ++i) {
    const uint64_t turns =
        Random64(config_.seed, RandomStream::kExtraTurns, counter + static_cast<uint64_t>(i));
    choice[i] |= turns >> (64 - extra) << network_.dimension();
  }
}

size_t VirtualSource::FillRow(Row row, Ticks window_end, std::vector<VirtualPacket>& packets,
                              size_t used) {
  // A slot's batch is the Poisson process of the slot, moved to the slot's start.
  const Ticks slot = config_.process == ArrivalConfig::Process::kSlotBatch ? slot_ : 1;
  const bool constant = config_.process == ArrivalConfig::Process::kConstant;
  const Ticks constant_gap = ToTicksBeforeFar(mean_gap_);
  const Tag prefix = PrefixOf(row);
  const int hops = network_.hops();
  RowState state = rows_[row];
#if BFLY_HAS_PACKET_VECTORS
  // No sum of eight gaps passes 2^64.
  const bool by_vectors = slot == 1 && !constant && mean_gap_ < 0x1p55 && HasPacketVectors();
#endif
  size_t filled = used;
  ArrivalBatch batches[2];
  do {
    // Vectors are written and read whole.
    const size_t most = filled + 3 * kArrivalBatch;
    if (packets.size() <= most) {
      packets.reserve(most + filled / 8 + 1);  // resize without reserve may double it
      packets.resize(most + filled / 8 + 1);
    }
    if (state.next >= window_end) break;
    uint64_t in_batch = state.number % kArrivalBatch;
    uint64_t first = CounterOf(row, state.number - in_batch);
    DrawTwoArrivals(config_.seed, first, mean_gap_, batches);
    for (ArrivalBatch& batch : batches) {
      if (state.next >= window_end) break;
#if BFLY_HAS_PACKET_VECTORS
      if (by_vectors) {
        BatchTags tagging{prefix, pattern_.uniform_mask(), row};
        if (tagging.mask == 0 || !network_.ends_left_to_right() || network_.extra_hops() > 0) {
          DrawDirections(row, first, batch.choice);
          tagging = {prefix, ~uint64_t{0}, 0};
        }
        const uint64_t count = WriteBatch(batch, in_batch, state.next, window_end, tagging, hops,
                                          packets.data() + filled);
        filled += count;
        state.number += count;
        in_batch = 0;
        first += kArrivalBatch;
        continue;
      }
#endif
      DrawDirections(row, first, batch.choice);
      for (uint64_t i = in_batch; i < kArrivalBatch && state.next < window_end; ++i) {
        const Ticks time = slot == 1 ? state.next : state.next - state.next % slot;
        packets[filled++] = {time, MakeWord(prefix | batch.choice[i], hops, time)};
        state.next += constant ? constant_gap : batch.gap[i];
        ++state.number;
      }
      in_batch = 0;
      first += kArrivalBatch;
    }
  } while (state.next < window_end);
  rows_[row] = state;
  return filled - used;
}

}  // namespace bfly::dataplane
