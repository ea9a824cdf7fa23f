// SPDX-License-Identifier: Apache-2.0
// The kinds of sources, by how they know what is due.
#pragma once

#include <vector>

#include "dataplane/traffic/source.h"

namespace bfly::dataplane {

// Constant gaps, or as fast as the worker allows. Its packets are numbered 0, 1, ... over all its
// rows in turn: packet j starts at row j mod R and is due at start + j / (R rate). `places` are the
// indices in config.rows of the rows that this source sends for.
class PacedSource final : public Source {
 public:
  PacedSource(const SourceConfig& config, const Network& network, uint64_t start_tsc, double tsc_hz,
              std::vector<uint32_t> places);
  uint64_t NextDue() const override;

 private:
  void Fill(Batch& batch) override;

  const double cycles_;  // between packets of this source; 0: not paced
  const uint64_t end_;   // packets in all
  const std::vector<uint32_t> places_;
  uint64_t next_;            // packet
  size_t next_place_ = 0;    // index of its place
  uint64_t row_packet_ = 0;  // its number in its row
};

// A random arrival process for each row; `places` as above. The rows' next packets stand in a heap
// by time.
class RandomSource final : public Source {
 public:
  RandomSource(const SourceConfig& config, const Network& network, uint64_t start_tsc,
               double tsc_hz, std::vector<uint32_t> places);
  uint64_t NextDue() const override;

 private:
  struct Entry {
    uint64_t time;   // of states_[index]
    uint32_t index;  // in places_
    bool operator<(const Entry& other) const {
      return time != other.time ? time < other.time : index < other.index;
    }
  };
  void Fill(Batch& batch) override;
  uint64_t TscOf(uint64_t time) const {
    return start_ + static_cast<uint64_t>(static_cast<double>(time) * cycles_);
  }
  void SiftDown(size_t at);

  const Arrivals arrivals_;
  const double cycles_;  // in a tick
  const std::vector<uint32_t> places_;
  std::vector<Arrivals::RowState> states_;
  std::vector<Entry> heap_;  // the earliest first
};

// Packets of a trace, once.
class TraceSource final : public Source {
 public:
  TraceSource(const SourceConfig& config, const Network& network, uint64_t start_tsc,
              double tsc_hz);
  uint64_t NextDue() const override;

 private:
  void Fill(Batch& batch) override;
  uint64_t TscOf(const TracePacket& packet) const {
    return start_ + static_cast<uint64_t>(static_cast<double>(packet.nanoseconds) * cycles_);
  }

  const double cycles_;  // in a nanosecond
  size_t next_ = 0;
};

}  // namespace bfly::dataplane
