// SPDX-License-Identifier: Apache-2.0
// The inlet of a segment's rows at which built-in sources inject packets.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "dataplane/core/inlet.h"
#include "dataplane/core/row_range.h"
#include "dataplane/links/event_heap.h"
#include "dataplane/runtime/grace_period.h"
#include "dataplane/traffic/source.h"

namespace bfly::dataplane {

class SourceInlet final : public Inlet {
 public:
  struct Set {
    explicit Set(std::vector<std::shared_ptr<Source>> all)
        : sources(std::move(all)), due(static_cast<uint32_t>(sources.size())) {}

    std::vector<std::shared_ptr<Source>> sources;
    // Worker only: when the next packet of each source is due. A source is left out if it does not
    // know.
    EventHeap due;
  };

  // `worker` is the epoch of the worker that uses the inlet.
  SourceInlet(const RouteTable& routes, RowRange rows, PassEpoch* worker)
      : routes_(routes), rows_(rows), worker_(worker) {}
  ~SourceInlet() override;

  // Worker: takes up the sources that were published last. The worker calls it before it answers
  // its epoch.
  void Refresh();
  // The sources take turns.
  int Receive(Descriptor* burst, int room, Ledger& ledger) override;
  // The source whose packet is due first sends until the packet of another one is due. So a source
  // that is behind holds back the others. Sources that send as fast as the worker allows come last.
  int ReceiveInOrder(Descriptor* burst, int room, Ledger& ledger) override;
  uint64_t NextDue() const override;

  // Control: publishes the sources that run from now on. `sources` must stay until the worker has
  // answered its epoch after another set was published.
  void Publish(Set* sources) { wanted_.store(sources, std::memory_order_release); }
  RowRange rows() const { return rows_; }
  PassEpoch* worker() const { return worker_; }

 private:
  void NoteDue();
  int EmitInOrder(Descriptor* burst, int room, uint64_t now, Ledger& ledger);
  // Asks the sources in turn; without `timed`, only those that do not know when a packet is due.
  int EmitInTurn(Descriptor* burst, int room, uint64_t now, bool timed, Ledger& ledger);

  const RouteTable& routes_;
  const RowRange rows_;
  PassEpoch* const worker_;
  std::atomic<Set*> wanted_{nullptr};  // control: writes, worker: acquire loads
  Set* current_ = nullptr;             // worker only
  bool knows_due_ = false;             // worker only: whether current_->due is up to date
  size_t turn_ = 0;                    // worker only: the source that is asked first
};

}  // namespace bfly::dataplane
