// SPDX-License-Identifier: Apache-2.0
#include "dataplane/traffic/source.h"

#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "absl/strings/str_cat.h"
#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

// Smallest and largest Ethernet frame, without FCS.
constexpr uint32_t kMinBytes = 64;
constexpr uint32_t kMaxBytes = 9018;

}  // namespace

Source::Source(const SourceConfig& config, uint64_t start_tsc, double tsc_hz)
    : config_(config),
      start_(start_tsc),
      cycles_(config.packets_per_second > 0
                  ? tsc_hz / (config.packets_per_second * static_cast<double>(config.rows.size()))
                  : 0),
      end_(config.packets > 0 ? config.packets * config.rows.size()
                              : std::numeric_limits<uint64_t>::max()) {}

Row Source::UniformRow(uint64_t packet, const Network& network) {
  if (packet / 4 != block_) {
    block_ = packet / 4;
    words_ = RandomBlock(config_.seed, RandomStream::kTraffic, block_);
  }
  return words_[packet % 4] >> (32 - network.dimension());
}

int Source::Emit(Descriptor* burst, int room, uint64_t now, const Network& network,
                 const RouteTable& routes, Ledger& ledger) {
  uint64_t due = end_;
  if (cycles_ > 0) {
    const double elapsed = static_cast<double>(static_cast<int64_t>(now - start_));
    if (elapsed < 0) return 0;
    due = std::min(due, static_cast<uint64_t>(elapsed / cycles_) + 1);
  } else {
    // A round over rows without a circuit sends nothing and has to end all the same.
    due = std::min(due, next_ + config_.rows.size() + static_cast<uint64_t>(room));
  }
  int count = 0;
  for (; next_ < due && count < room; ++next_) {
    const Row input = config_.rows[next_row_];
    if (++next_row_ == config_.rows.size()) next_row_ = 0;
    WireTag tag = 0;
    if (config_.destination == SourceConfig::Destination::kCircuit) {
      tag = routes.circuit(input);
      if (tag == 0) continue;
    } else {
      const Row output = config_.destination == SourceConfig::Destination::kRow
                             ? config_.row
                             : UniformRow(next_, network);
      if (!routes.Lookup(input, output, tag)) {
        ++ledger.injected;
        ledger.Drop(DropReason::kNoCircuit);
        continue;
      }
    }
    const uint64_t born =
        cycles_ > 0 ? start_ + static_cast<uint64_t>(static_cast<double>(next_) * cycles_) : now;
    burst[count++] = Descriptor{.tag = tag,
                                .mbuf = nullptr,
                                .time = born,
                                .row = input,
                                .bytes = static_cast<uint16_t>(config_.bytes),
                                .input = static_cast<uint16_t>(input)};
  }
  ledger.injected += static_cast<uint64_t>(count);
  return count;
}

absl::Status CheckSources(const std::vector<SourceConfig>& sources, const Network& network) {
  for (size_t i = 0; i < sources.size(); ++i) {
    const SourceConfig& s = sources[i];
    const std::string at = absl::StrCat("sources[", i, "].");
    const std::string row_range = absl::StrCat(" is outside 0..", network.rows() - 1);
    if (s.rows.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(at, "rows: empty; name the rows that send"));
    }
    for (size_t r = 0; r < s.rows.size(); ++r) {
      if (s.rows[r] >= network.rows()) {
        return absl::InvalidArgumentError(
            absl::StrCat(at, "rows[", r, "]: ", s.rows[r], row_range));
      }
    }
    if (s.destination == SourceConfig::Destination::kRow && s.row >= network.rows()) {
      return absl::InvalidArgumentError(absl::StrCat(at, "row: ", s.row, row_range));
    }
    if (s.bytes < kMinBytes || s.bytes > kMaxBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(at, "bytes: ", s.bytes, " is outside ", kMinBytes, "..", kMaxBytes));
    }
    if (!std::isfinite(s.packets_per_second) || s.packets_per_second < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(at, "packets_per_second: ", s.packets_per_second,
                       " is not a rate; use 0 for as fast as possible"));
    }
  }
  return absl::OkStatus();
}

SourceInlet::~SourceInlet() = default;

void SourceInlet::Refresh() {
  Set* const wanted = wanted_.load(std::memory_order_acquire);
  if (wanted == current_) return;
  current_ = wanted;
  turn_ = 0;
  seen_.store(wanted, std::memory_order_release);
}

int SourceInlet::Receive(Descriptor* burst, int room, Ledger& ledger) {
  if (current_ == nullptr || current_->empty()) return 0;
  const uint64_t now = rte_rdtsc();
  int count = 0;
  for (size_t asked = 0; asked < current_->size() && count < room; ++asked) {
    turn_ = turn_ + 1 >= current_->size() ? 0 : turn_ + 1;
    count += (*current_)[turn_].Emit(burst + count, room - count, now, network_, routes_, ledger);
  }
  return count;
}

absl::Status SourceInlet::Replace(const std::vector<SourceConfig>& sources) {
  auto set = std::make_unique<Set>();
  const uint64_t start = rte_rdtsc();
  const double hz = static_cast<double>(rte_get_tsc_hz());
  for (const SourceConfig& config : sources) set->emplace_back(config, start, hz);
  Set* const wanted = set.get();
  owned_.push_back(std::move(set));
  wanted_.store(wanted, std::memory_order_release);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (seen_.load(std::memory_order_acquire) != wanted) {
    if (std::chrono::steady_clock::now() > deadline) {
      return absl::DeadlineExceededError(
          "the worker of the first stage made no pass within 2 s; it will switch to the new "
          "sources "
          "when it does");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  owned_.erase(owned_.begin(), owned_.end() - 1);
  return absl::OkStatus();
}

}  // namespace bfly::dataplane
