// SPDX-License-Identifier: Apache-2.0
// All built-in sources of a data plane. A source runs in parts: each inlet runs the part for its
// rows.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/traffic/source_inlet.h"

namespace bfly::dataplane {

class Sources {
 public:
  // `network` and `routes` must outlive the object.
  Sources(const Network& network, const RouteTable& routes) : network_(network), routes_(routes) {}

  // Adds the inlet of `rows`, which the worker with the epoch `worker` uses. Call it before the
  // worker starts. The inlet lives as long as the object.
  SourceInlet* AddInlet(RowRange rows, PassEpoch* worker);

  // Control, one thread at a time: publishes the sources that run from now on. A source whose id
  // runs already goes on undisturbed. Asks the workers to take the sources up, waits, and leaves
  // replaced sources to `retired`. DeadlineExceeded: a worker made no pass within two seconds; the
  // new sources are published nevertheless.
  absl::Status Replace(const std::vector<SourceConfig>& sources, Retired& retired);
  // Control: the counters of the sources of the last Replace, in their order.
  std::vector<SourceCounters> counters() const;

 private:
  // The sources of one Replace. They may share parts with the sources of earlier calls.
  struct Running {
    // For each source, a part for each inlet, which may be null.
    std::vector<std::vector<std::shared_ptr<Source>>> parts;
    std::vector<SourceInlet::Set> of_inlet;
  };

  const Network& network_;
  const RouteTable& routes_;
  std::vector<std::unique_ptr<SourceInlet>> inlets_;
  std::shared_ptr<Running> running_;  // control only: the sources of the last Replace
  std::vector<uint64_t> ids_;         // control only: the ids of those sources
};

}  // namespace bfly::dataplane
