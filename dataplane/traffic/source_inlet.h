// SPDX-License-Identifier: Apache-2.0
// The inlet of a segment's rows at which built-in sources inject packets.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "dataplane/core/inlet.h"
#include "dataplane/core/row_range.h"
#include "dataplane/runtime/grace_period.h"
#include "dataplane/traffic/source.h"

namespace bfly::dataplane {

class SourceInlet final : public Inlet {
 public:
  using Set = std::vector<std::shared_ptr<Source>>;

  // `worker` is the epoch of the worker that uses the inlet.
  SourceInlet(const RouteTable& routes, RowRange rows, PassEpoch* worker)
      : routes_(routes), rows_(rows), worker_(worker) {}
  ~SourceInlet() override;

  // Worker: takes up the sources that were published last. The worker calls it before it answers
  // its epoch.
  void Refresh();
  int Receive(Descriptor* burst, int room, Ledger& ledger) override;
  uint64_t NextDue() const override;

  // Control: publishes the sources that run from now on. `sources` must stay until the worker has
  // answered its epoch after another set was published.
  void Publish(Set* sources) { wanted_.store(sources, std::memory_order_release); }
  RowRange rows() const { return rows_; }
  PassEpoch* worker() const { return worker_; }

 private:
  const RouteTable& routes_;
  const RowRange rows_;
  PassEpoch* const worker_;
  std::atomic<Set*> wanted_{nullptr};  // control: writes, worker: acquire loads
  Set* current_ = nullptr;             // worker only
  size_t turn_ = 0;                    // worker only: the source that is asked first
};

}  // namespace bfly::dataplane
