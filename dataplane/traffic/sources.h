// SPDX-License-Identifier: Apache-2.0
// All built-in sources of a data plane. Each runs in parts, at every inlet the part of its rows.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/traffic/source_inlet.h"

namespace bfly::dataplane {

class Sources {
 public:
  // Both outlive the object.
  Sources(const Network& network, const RouteTable& routes) : network_(network), routes_(routes) {}

  // Before the worker starts: the inlet of `rows`, which `worker` uses. Stays as long as the
  // object.
  SourceInlet* AddInlet(RowRange rows, PassEpoch* worker);

  // Control, one thread at a time: publishes the sources that are to run from now on. One that runs
  // already, by its id, goes on where it is. Asks the workers to take them up, waits, and leaves
  // the others to `retired`. DeadlineExceeded if a worker did not make a pass within two seconds;
  // the new sources hold all the same.
  absl::Status Replace(const std::vector<SourceConfig>& sources, Retired& retired);
  // Control: of the sources of the last Replace, in their order.
  std::vector<SourceCounters> counters() const;

 private:
  // The sources of one Replace. Parts of a source may be shared with earlier ones.
  struct Running {
    std::vector<std::vector<std::shared_ptr<Source>>> parts;  // by source, then by inlet or null
    std::vector<SourceInlet::Set> of_inlet;
  };

  const Network& network_;
  const RouteTable& routes_;
  std::vector<std::unique_ptr<SourceInlet>> inlets_;
  std::shared_ptr<Running> running_;  // control only: of the last Replace
  std::vector<uint64_t> ids_;         // control only: of its sources
};

}  // namespace bfly::dataplane
