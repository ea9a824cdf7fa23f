// SPDX-License-Identifier: Apache-2.0
// A loaded fabric: workers, stages, ports. One per data-plane process at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/core/config.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/telemetry/latency.h"
#include "dataplane/traffic/source_config.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

class InBand;

class Fabric {
 public:
  virtual ~Fabric() = default;

  // Checks the whole config against this machine without changing anything: every error, one
  // message each
  // ("placement[1].lcore: 9 is not a CPU of this machine (0..1)").
  static std::vector<absl::Status> Verify(const FabricConfig& config);

  // Builds ports, rings and tables and launches the workers. EAL must be up (runtime/eal.h).
  static absl::StatusOr<std::unique_ptr<Fabric>> Load(const FabricConfig& config);

  // Stops the workers, counts what is still inside as kUnloaded, closes the ports. The destructor
  // calls it.
  virtual absl::Status Unload() = 0;

  virtual const FabricConfig& config() const = 0;
  virtual const Network& network() const = 0;

  // Frames input -> (output of tag) follow `tag` from the next burst on. One circuit an input; a
  // second replaces the first. Thread-safe, takes no lock a worker could wait for.
  virtual absl::Status InstallCircuit(Row input, Tag tag) = 0;
  virtual absl::Status RemoveCircuit(Row input) = 0;
  struct Circuit {
    Row input;
    Tag tag;
  };
  virtual std::vector<Circuit> circuits() const = 0;

  // The built-in sources that run from now on; an empty vector stops them. A source whose id runs
  // already goes on where it is.
  virtual absl::Status SetSources(const std::vector<SourceConfig>& sources) = 0;
  // In the order of the last SetSources.
  virtual std::vector<SourceCounters> sources() const = 0;

  // Records the latency of what is delivered from now on, or ends it. Returns what was recorded
  // before, to which no worker adds any more (unless one made no pass for two seconds). Until it is
  // asked for, nothing is recorded and nothing paid.
  virtual absl::StatusOr<LatencyReport> RecordLatency(bool on) = 0;
  // What was recorded so far. Workers go on adding: a mean may count packets that arrived while the
  // report was made, and leave out their part in another mean.
  virtual LatencyReport latency() const = 0;

  virtual absl::Status SetLinkUp(LinkId link, bool up) = 0;

  // What links are like from now on; replaces what the config or an earlier call said. Packets on
  // links stay there, and what waits is sent as the new plan says. All stages of the network may be
  // named, also those of other data planes. InvalidArgument names the rule and field, and nothing
  // is changed.
  virtual absl::Status SetLinks(const LinkPlan& plan) = 0;

  // For circuits that the workers set up themselves (in_band/in_band.h). Memory for it is taken
  // with the first call. FailedPrecondition: the network or its placement does not allow it.
  virtual absl::StatusOr<InBand*> in_band() = 0;

  // What is wrong with ports and trunks now, a sentence for each.
  virtual std::vector<std::string> problems() const { return {}; }

  virtual Snapshot snapshot() const = 0;
  // The same without links: cheap, however large the network.
  virtual Snapshot summary() const = 0;

  // For readers who want a few of many links (fabric/link_query.h). First and last stage that run
  // here; links are known by their index in the network, and only those of these stages may be
  // asked for.
  virtual std::pair<int, int> stages() const = 0;
  // One figure of the links from `first` on, which are all of one stage.
  virtual void ReadLinkFigures(LinkFigure figure, uint64_t first,
                               std::span<uint64_t> values) const = 0;
  virtual LinkCounters ReadLink(uint64_t index) const = 0;
};

}  // namespace bfly::dataplane
