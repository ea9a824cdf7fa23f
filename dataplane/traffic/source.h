// SPDX-License-Identifier: Apache-2.0
// A built-in source: synthetic packets at input rows. What it sends, where to and when each packet
// is due follow from its config alone, never from when the worker looked.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "dataplane/core/descriptor.h"
#include "dataplane/core/ledger.h"
#include "dataplane/core/route_table.h"
#include "dataplane/core/row_range.h"
#include "dataplane/traffic/source_config.h"
#include "topologies/network.h"

namespace bfly::dataplane {

class Source {
 public:
  // The config has passed CheckSources. start_tsc is the source's time 0. Sends what starts at
  // `rows` and leaves the rest of what the config says to others; null if nothing starts there.
  static std::shared_ptr<Source> Make(const SourceConfig& config, const Network& network,
                                      uint64_t start_tsc, double tsc_hz, RowRange rows = {});
  virtual ~Source() = default;

  // Worker: fills in packets that are due at `now`, at most `room`.
  int Emit(Descriptor* burst, int room, uint64_t now, const RouteTable& routes, Ledger& ledger);
  // Worker: TSC at which the next packet is due; UINT64_MAX: none will come, or nobody knows.
  virtual uint64_t NextDue() const = 0;

  // Any thread.
  uint64_t id() const { return config_.id; }
  SourceCounters counters(uint64_t now) const;

 protected:
  struct Batch {
    Descriptor* packets;
    int room;
    uint64_t now;  // TSC
    const RouteTable& routes;
    Ledger& ledger;
    int count = 0;
    uint64_t bytes = 0;
    bool full() const { return count == room; }
  };
  Source(const SourceConfig& config, const Network& network, uint64_t start_tsc, double tsc_hz);

  virtual void Fill(Batch& batch) = 0;
  // Packet `index` of row `input`, born at TSC `born`, as the config's destination says.
  void Send(Batch& batch, Row input, uint64_t index, uint64_t born);
  void SendTo(Batch& batch, Row input, Row output, uint32_t bytes, uint64_t born);
  void Finish() { finished_.store(true, std::memory_order_relaxed); }
  bool finished() const { return finished_.load(std::memory_order_relaxed); }

  const SourceConfig config_;
  const uint64_t start_;
  const double hz_;

 private:
  void Put(Batch& batch, Row input, WireTag tag, uint32_t bytes, uint64_t born);

  std::optional<TrafficPattern> pattern_;  // kUniform, kPattern
  TrafficPattern::Words words_;
  // Worker: writes, any thread: relaxed loads.
  std::atomic<uint64_t> packets_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> no_circuit_{0};
  std::atomic<bool> finished_{false};
};

// InvalidArgument names the field: "sources[0].rows[3]: 20 is outside 0..15".
absl::Status CheckSources(const std::vector<SourceConfig>& sources, const Network& network);

}  // namespace bfly::dataplane
