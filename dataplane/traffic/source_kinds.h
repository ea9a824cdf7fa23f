// SPDX-License-Identifier: Apache-2.0
// The kinds of sources; they differ in how they know which packets are due.
#pragma once

#include <vector>

#include "dataplane/traffic/source.h"

namespace bfly::dataplane {

// Sends with constant gaps, or as fast as the worker allows. Packets are numbered 0, 1, ... over
// all rows of the config in turn: packet j starts at row j mod R and is due at start + j / (R
// rate). `places` are the indices in config.rows of the rows for which this source sends, in order.
// A source that is behind looks at no more than four times the packets for which a pass has room.
// While it is behind and no row has a circuit, it does not look at every packet that is due. If few
// rows have circuits, it looks at every packet. If the rate is too high for that, the source stays
// behind, and its packets count as born when they were due.
class PacedSource final : public Source {
 public:
  PacedSource(const SourceConfig& config, const Network& network, uint64_t start_tsc, double tsc_hz,
              std::vector<uint32_t> places);
  uint64_t NextDue() const override;

 private:
  void Fill(Batch& batch) override;
  // Goes on to the first packet of this source that has the number `packet` or a later one.
  void SkipTo(uint64_t packet);

  const double cycles_;  // cycles between packets; 0: as fast as the worker allows
  const uint64_t end_;   // the total number of packets
  const std::vector<uint32_t> places_;
  uint64_t next_;            // number of the next packet
  size_t next_place_ = 0;    // index in places_ of the next packet
  uint64_t row_packet_ = 0;  // the next packet's number in its row
  // How many packets a source that is behind has looked at without finding a row with a circuit.
  uint64_t in_vain_ = 0;
};

// Sends by a random arrival process for each row; `places` as above. A heap orders the rows by the
// times of their next packets.
class RandomSource final : public Source {
 public:
  RandomSource(const SourceConfig& config, const Network& network, uint64_t start_tsc,
               double tsc_hz, std::vector<uint32_t> places);
  uint64_t NextDue() const override;

 private:
  struct Entry {
    uint64_t time;   // the time of states_[index]
    uint32_t index;  // index in places_
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
  const double cycles_;  // cycles in a tick
  const std::vector<uint32_t> places_;
  std::vector<Arrivals::RowState> states_;
  std::vector<Entry> heap_;  // a heap, the earliest first
};

// Sends the packets of a trace, once.
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

  const double cycles_;  // cycles in a nanosecond
  size_t next_ = 0;
};

}  // namespace bfly::dataplane
