// SPDX-License-Identifier: Apache-2.0
// The outlet behind the last stage. Every packet goes to the host port of the row at which it
// arrived.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "dataplane/core/inlet.h"
#include "dataplane/ports/host_transmitter.h"
#include "dataplane/runtime/replaceable.h"
#include "dataplane/slots/turn_back.h"
#include "dataplane/taps/tap_table.h"
#include "dataplane/telemetry/latency.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Takes every descriptor that it is offered. A frame goes to the transmitter of its row, or is
// dropped as kNoPortAtRow. A synthetic packet ends here, in the row's built-in sink, and counts as
// delivered.
class Egress final : public Outlet {
 public:
  // `from_others`: frames may come from another worker, whose core has their headers in its cache.
  explicit Egress(uint32_t rows, bool from_others = false)
      : from_others_(from_others), ports_(std::make_shared<Ports>(rows)) {}

  // Makes frames for `rows` leave by `transmitter`, which only this worker uses. Call it before the
  // worker starts.
  void Attach(const std::vector<Row>& rows, HostTransmitter* transmitter) {
    ports_.BeforeStart().Attach(rows, transmitter);
  }
  // Control, one thread at a time. From the worker's next take-up on, frames for `rows` leave by
  // `transmitter` (AttachLive), or no frame leaves by it (DetachLive). Both return what must stay
  // until the worker has answered its epoch.
  std::shared_ptr<const void> AttachLive(const std::vector<Row>& rows,
                                         HostTransmitter* transmitter);
  bool Has(const HostTransmitter* transmitter) const;
  std::shared_ptr<const void> DetachLive(const HostTransmitter* transmitter);

  // Control: records deliveries in `latency` from now on. Null: deliveries are not recorded.
  void RecordLatency(DeliveryLatency* latency) {
    latency_.store(latency, std::memory_order_release);
    SetWatched();
  }
  // Control: the table's taps note the packets that arrive, by their row. Null: no tap does.
  void SetTaps(const TapTable* taps) {
    taps_.store(taps, std::memory_order_release);
    SetWatched();
  }

  // Control: packets of a schedule that go by an intermediate row turn back by `way`, which stays
  // until the worker has ended. Control tells this worker before it tells the worker that lets such
  // packets in.
  void TurnBackBy(TurnBackOut* way) { turn_back_.store(way, std::memory_order_release); }

  int Send(const Descriptor* burst, int count, Ledger& ledger) override;
  uint64_t held() const override;
  void TakeUp(Ledger& ledger) override;
  void Flush(Ledger& ledger) override;
  void HandOver() override;
  uint64_t Discard() override;

 private:
  static constexpr uint16_t kNone = 0xffff;
  struct Ports {
    explicit Ports(size_t rows) : of_row(rows, kNone) {}
    void Attach(const std::vector<Row>& rows, HostTransmitter* transmitter);

    std::vector<uint16_t> of_row;  // for each row: an index in `transmitters`
    std::vector<HostTransmitter*> transmitters;
  };

  // Control. Each of the two pointers is set by one thread at a time.
  void SetWatched();
  // Worker: records and notes a burst as control has asked.
  void Watch(const Descriptor* burst, int count);
  static void Record(const Descriptor* burst, int count, DeliveryLatency& latency);

  void Deliver(const Descriptor* burst, int count, Ledger& ledger);
  static void FetchHeaders(const Descriptor* burst, int count);

  const bool from_others_;
  Replaceable<Ports> ports_;
  // Control: writes, worker: acquire loads.
  std::atomic<TurnBackOut*> turn_back_{nullptr};
  std::atomic<DeliveryLatency*> latency_{nullptr};
  std::atomic<const TapTable*> taps_{nullptr};
  std::atomic<bool> watched_{false};  // latency_ or taps_ is not null
};

}  // namespace bfly::dataplane
