// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/fused_stages.h"

#include <rte_common.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace bfly::dataplane {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// Counters of more bytes than this are seldom in the cache of a core when a packet needs them, so
// the counters of a batch are fetched together.
constexpr size_t kNearBytes = size_t{1} << 19;

// Counters are touched at random, so they stand on few large pages if the kernel has any.
LinkHot* MakeCounts(size_t count) {
  const size_t bytes = count * sizeof(LinkHot);
  const size_t page = bytes < kHugePage ? RTE_CACHE_LINE_SIZE : kHugePage;
  void* const memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (memory == nullptr) throw std::bad_alloc();
  if (page == kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
  LinkHot* const counts = static_cast<LinkHot*>(memory);
  std::uninitialized_value_construct_n(counts, count);
  return counts;
}

// Whether some of the stages are wired by a table.
bool HasTables(const Network& network, int first_stage, int stages) {
  for (int s = first_stage; s < first_stage + stages; ++s) {
    if (!network.wiring(s).table.empty()) return true;
  }
  return false;
}

}  // namespace

int MostFused(const Network& network) {
  if (network.multiplicity() > 1) return 1;
  return FusedStages::kMost;
}

uint64_t FusedStages::BytesPerStage(const Network& network) {
  const int most = MostFused(network);
  if (most == 1) return 0;
  const bool tables = HasTables(network, 0, network.stages());
  const uint64_t of_key = sizeof(LinkHot) + (tables ? sizeof(Row) : 0);
  const uint64_t of_row = tables ? kDirections * sizeof(uint32_t) : 0;
  return (uint64_t{network.rows()} << most) * of_key / static_cast<uint64_t>(most) +
         network.rows() * of_row;
}

FusedStages::FusedStages(const Network& network, int first_stage, std::vector<Stage*> stages,
                         RowRange rows)
    : size_(static_cast<int>(stages.size())),
      first_row_(rows.first),
      rows_(std::min(rows.last, network.rows() - 1) - rows.first + 1),
      stages_(std::move(stages)),
      counts_(MakeCounts(keys())) {
  kept_ = ~Row{0};
  for (int i = 0; i < size_; ++i) {
    stages_[static_cast<size_t>(i)]->AddFused(this, i);
    kept_ &= ~network.wiring(first_stage + i).mask;
    if (i + 1 == size_) break;
    behind_.push_back({network.wiring(first_stage + i).mask,
                       FeedersOf(network, first_stage + i, {first_row_, first_row_ + rows_ - 1})});
  }
  const bool table = HasTables(network, first_stage, size_);
  const bool far = keys() * sizeof(LinkHot) > kNearBytes;
  cross_ = table ? far ? CrossOf<true, true>(size_) : CrossOf<true, false>(size_)
           : far ? CrossOf<false, true>(size_)
                 : CrossOf<false, false>(size_);
  const auto head = [&](Row row, uint32_t bits) {
    for (int i = 0; i < size_; ++i) {
      row = network.next_row(first_stage + i, row, bits >> (size_ - 1 - i) & 1);
    }
    return row;
  };
  const uint32_t ways = 1u << size_;
  if (!table) {
    for (uint32_t bits = 0; bits < ways; ++bits) set_[bits] = head(0, bits);
    return;
  }
  next_row_.reserve(keys());
  for (Row row = first_row_; row - first_row_ < rows_; ++row) {
    for (uint32_t bits = 0; bits < ways; ++bits) next_row_.push_back(head(row, bits));
  }
}

template <int kStages, bool kTable, bool kFar>
void FusedStages::CrossAs(Descriptor* burst, int count) {
  // These are locals, so that stores to the counters do not make the compiler read the members
  // again.
  LinkHot* const counts = counts_.get();
  const uint32_t first = first_row_ << kStages;
  [[maybe_unused]] const Row* const next_row = next_row_.data();
  [[maybe_unused]] const Row* const set = set_;
  [[maybe_unused]] const Row kept = kept_;
  const auto key_of = [first](const Descriptor& d) {
    return (d.row << kStages | static_cast<uint32_t>(d.tag >> (64 - kStages))) - first;
  };
  if constexpr (kFar) {
    for (int i = 0; i < count; ++i) {
      const uint32_t key = key_of(burst[i]);
      __builtin_prefetch(&counts[key], 1);
      if constexpr (kTable) __builtin_prefetch(&next_row[key]);
    }
  }
  for (int i = 0; i < count; ++i) {
    Descriptor& d = burst[i];
    const uint32_t key = key_of(d);
    Bump<uint64_t>(counts[key].packets, 1);
    Bump<uint64_t>(counts[key].bytes, d.bytes);
    d.tag <<= kStages;
    if constexpr (kTable) {
      d.row = next_row[key];
    } else {
      d.row = (d.row & kept) | set[key & ((1u << kStages) - 1)];
    }
  }
}

template <bool kTable, bool kFar>
FusedStages::CrossFunction FusedStages::CrossOf(int stages) {
  static_assert(kMost == 4);
  switch (stages) {
    case 2:
      return &FusedStages::CrossAs<2, kTable, kFar>;
    case 3:
      return &FusedStages::CrossAs<3, kTable, kFar>;
    default:
      return &FusedStages::CrossAs<4, kTable, kFar>;
  }
}

// Every node that a stage leads to has as many links in as out.
std::vector<uint32_t> FusedStages::FeedersOf(const Network& network, int stage, RowRange rows) {
  std::vector<uint32_t> feeders;
  if (network.wiring(stage).table.empty()) return feeders;
  for (Row row = rows.first; row <= rows.last; ++row) {
    for (const LinkId& link : network.feeders(stage, row)) {
      feeders.push_back(link.row * kDirections + static_cast<uint32_t>(link.port));
    }
  }
  return feeders;
}

// Calls visit(key) for every way from a row at the first stage to `row` at `level`, with the key
// whose bits behind the way are `bits`.
template <typename Visit>
void FusedStages::ForEachWayTo(int level, Row row, uint32_t bits, Visit& visit) const {
  if (level == 0) {
    visit((row - first_row_) << size_ | bits);
    return;
  }
  const Level& from = behind_[static_cast<size_t>(level) - 1];
  for (const uint32_t which : {0u, 1u}) {
    uint32_t link;
    if (from.feeders.empty()) {
      link = ((row & ~from.mask) | (which != 0 ? from.mask : 0)) * kDirections +
             ((row & from.mask) != 0 ? 1 : 0);
    } else {
      link = from.feeders[(row - first_row_) * 2 + which];
    }
    ForEachWayTo(level - 1, link / kDirections, bits | link % kDirections << (size_ - level),
                 visit);
  }
}

// Calls visit(key) for every key whose packets cross the link.
template <typename Visit>
void FusedStages::ForEachKey(int position, uint32_t link, Visit&& visit) const {
  const int behind = size_ - 1 - position;  // stages behind the link
  const auto each_way_on = [&](uint32_t first) {
    for (uint32_t on = 0; on < 1u << behind; ++on) visit(first + on);
  };
  ForEachWayTo(position, link / kDirections, link % kDirections << behind, each_way_on);
}

LinkCount FusedStages::Carried(int position, uint32_t link) const {
  LinkCount sum;
  ForEachKey(position, link, [&](uint32_t key) {
    sum.packets += counts_[key].packets.load(std::memory_order_relaxed);
    sum.bytes += counts_[key].bytes.load(std::memory_order_relaxed);
  });
  return sum;
}

LinkCount FusedStages::Carried(int position, uint32_t link,
                               const std::vector<LinkCount>& reading) const {
  LinkCount sum;
  ForEachKey(position, link, [&](uint32_t key) {
    sum.packets += reading[key].packets;
    sum.bytes += reading[key].bytes;
  });
  return sum;
}

std::vector<LinkCount> FusedStages::Read() const {
  std::vector<LinkCount> reading(keys());
  for (size_t key = 0; key < reading.size(); ++key) {
    reading[key] = {.packets = counts_[key].packets.load(std::memory_order_relaxed),
                    .bytes = counts_[key].bytes.load(std::memory_order_relaxed)};
  }
  return reading;
}

}  // namespace bfly::dataplane
