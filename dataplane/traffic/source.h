// SPDX-License-Identifier: Apache-2.0
// A built-in source of synthetic packets at input rows. Only its config determines what it sends,
// where to, and when each packet is due; the times at which a worker looks do not matter.
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
  // CheckSources has accepted the config. start_tsc is the source's time 0. The source sends the
  // packets that start at `rows`; other parts send the rest of the config's packets. Returns null
  // if no packet starts at `rows`.
  static std::shared_ptr<Source> Make(const SourceConfig& config, const Network& network,
                                      uint64_t start_tsc, double tsc_hz, RowRange rows = {});
  virtual ~Source() = default;

  // Worker, at the TSC `now`: fills in the packets that are due at `until`, at most `room`. `until`
  // is at most `now`.
  int Emit(Descriptor* burst, int room, uint64_t until, uint64_t now, const RouteTable& routes,
           Ledger& ledger);
  // The same with all packets that are due.
  int Emit(Descriptor* burst, int room, uint64_t now, const RouteTable& routes, Ledger& ledger) {
    return Emit(burst, room, now, now, routes, ledger);
  }
  // Worker: the TSC at which the next packet is due. UINT64_MAX: no packet will come, or the time
  // is unknown.
  virtual uint64_t NextDue() const = 0;

  // Any thread.
  uint64_t id() const { return config_.id; }
  // Without `seconds`.
  SourceCounters counters() const;
  // The time from the source's start until `now` (TSC), or until it had finished. Call it after
  // counters(): then all packets in the counters were sent within this time.
  double SecondsAt(uint64_t now) const;

 protected:
  struct Batch {
    Descriptor* packets;
    int room;
    uint64_t now;  // TSC; packets that are due later do not belong to the batch
    const RouteTable& routes;
    Ledger& ledger;
    int count = 0;
    uint64_t bytes = 0;
    bool full() const { return count == room; }
  };
  Source(const SourceConfig& config, const Network& network, uint64_t start_tsc, double tsc_hz);

  virtual void Fill(Batch& batch) = 0;
  // Sends packet `index` of row `input`, born at TSC `born`, to the config's destination.
  void Send(Batch& batch, Row input, uint64_t index, uint64_t born);
  void SendTo(Batch& batch, Row input, Row output, uint32_t bytes, uint64_t born);
  // The packets of this batch are the last ones.
  void Finish() { fill_is_last_ = true; }

  const SourceConfig config_;
  const uint64_t start_;
  const double hz_;

 private:
  void Put(Batch& batch, Row input, Route route, uint32_t bytes, uint64_t born);
  bool finished() const { return finished_at_.load(std::memory_order_relaxed) != 0; }

  bool fill_is_last_ = false;              // worker only
  std::optional<TrafficPattern> pattern_;  // kUniform, kPattern
  TrafficPattern::Words words_;
  // Worker: writes, any thread: relaxed loads.
  std::atomic<uint64_t> packets_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> no_circuit_{0};
  // The TSC of the batch with the last packet, which is counted before this is written. 0: the
  // source has not finished.
  std::atomic<uint64_t> finished_at_{0};
};

}  // namespace bfly::dataplane
