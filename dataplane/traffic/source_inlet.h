// SPDX-License-Identifier: Apache-2.0
// All built-in sources of a data plane, as an inlet of the segment of the first hop.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/core/inlet.h"
#include "dataplane/runtime/grace_period.h"
#include "dataplane/traffic/source.h"

namespace bfly::dataplane {

class SourceInlet final : public Inlet {
 public:
  SourceInlet(const Network& network, const RouteTable& routes)
      : network_(network), routes_(routes) {}
  ~SourceInlet() override;

  // Worker: takes up what the last Replace published. Called before the worker answers its epoch.
  void Refresh();
  int Receive(Descriptor* burst, int room, Ledger& ledger) override;
  uint64_t NextDue() const override;

  // Control, one thread at a time: publishes the sources that are to run from now on. One that runs
  // already, by its id, goes on where it is. Asks `worker` to take them up, waits, and leaves the
  // others to `retired`. DeadlineExceeded if the worker did not make a pass within two seconds; the
  // new sources hold all the same.
  absl::Status Replace(const std::vector<SourceConfig>& sources, PassEpoch* worker,
                       Retired& retired);
  // Control: of the sources of the last Replace, in their order.
  std::vector<SourceCounters> counters() const;

 private:
  // A vector of its own for each Replace; sources may be shared between them.
  using Set = std::vector<std::shared_ptr<Source>>;

  const Network& network_;
  const RouteTable& routes_;
  std::atomic<Set*> wanted_{nullptr};  // control: writes, worker: acquire loads
  Set* current_ = nullptr;             // worker only
  size_t turn_ = 0;                    // worker only: source asked first
  std::shared_ptr<Set> owned_;         // control only: of the last Replace
};

}  // namespace bfly::dataplane
