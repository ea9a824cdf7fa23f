// SPDX-License-Identifier: Apache-2.0
// A loaded fabric: workers, stages and ports. A data-plane process has at most one at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/core/config.h"
#include "dataplane/core/port_status.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/core/worker_passes.h"
#include "dataplane/telemetry/latency.h"
#include "dataplane/traffic/source_config.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

class InBand;
class Schedules;
class StepPrograms;
class Taps;

class Fabric {
 public:
  virtual ~Fabric() = default;

  // Checks the whole config against this machine without changing anything. Returns a message for
  // each error, such as "placement[1].lcore: 9 is not a CPU of this machine (0..1)".
  static std::vector<absl::Status> Verify(const FabricConfig& config);

  // Builds ports, rings and tables and launches the workers. EAL must be up (runtime/eal.h).
  static absl::StatusOr<std::unique_ptr<Fabric>> Load(const FabricConfig& config);

  // Stops the workers, counts the packets that are still inside as kUnloaded, and closes the ports.
  // The destructor calls it.
  virtual absl::Status Unload() = 0;

  // The config as it was loaded. Ports may have come and gone since.
  virtual const FabricConfig& config() const = 0;
  virtual const Network& network() const = 0;

  // Makes frames from `input` follow `tag` from the next burst on. An input has one circuit, and a
  // second replaces the first. Thread-safe, without a lock for which a worker could wait.
  virtual absl::Status InstallCircuit(Row input, Tag tag) = 0;
  virtual absl::Status RemoveCircuit(Row input) = 0;
  struct Circuit {
    Row input;
    Tag tag;
  };
  virtual std::vector<Circuit> circuits() const = 0;

  // Sets the built-in sources that run from now on; an empty vector stops all sources. A source
  // whose id runs already goes on undisturbed. DeadlineExceeded: a worker made no pass for two
  // seconds; it takes the new sources up later. After other errors nothing is changed.
  virtual absl::Status SetSources(const std::vector<SourceConfig>& sources) = 0;
  // The counters are in the order of the last SetSources.
  virtual std::vector<SourceCounters> sources() const = 0;

  // Starts to record the latency of delivered packets, or ends it. Returns the latencies that were
  // recorded before. No worker adds to them any more, unless a worker made no pass for two seconds.
  // Until a caller asks for recording, no latency is recorded, and that costs no time.
  virtual absl::StatusOr<LatencyReport> RecordLatency(bool on) = 0;
  // Returns the latencies that were recorded so far. Workers go on adding, so a mean may count
  // packets that arrived while the report was made, and another mean may leave them out.
  virtual LatencyReport latency() const = 0;

  // Takes a link down or brings it up. InvalidArgument: another data plane runs the stage, or the
  // network has no such link.
  virtual absl::Status SetLinkUp(LinkId link, bool up) = 0;
  // Returns when every worker has ended the pass that it is in. After that no packet crosses a link
  // that was taken down before the call. Waits at most a quarter of a second for a worker that
  // hangs.
  virtual void EndPasses() const = 0;
  // Sets the links, by index, that packets do not take while they can pick another port of the
  // direction (topologies/faulty_switches.h). Replaces the links of an earlier call. Circuits still
  // cross these links. Links of stages that other data planes run are ignored.
  virtual void AvoidLinks(const std::vector<uint64_t>& links) = 0;

  // Gives links their shapes from now on, in place of those of the config or an earlier call.
  // Packets on links stay there, and waiting packets are sent as the new plan says. The plan may
  // name all stages of the network, including stages of other data planes. InvalidArgument names
  // the rule and field; then nothing is changed. DeadlineExceeded as for SetSources.
  virtual absl::Status SetLinks(const LinkPlan& plan) = 0;

  // The interface for circuits that the workers set up themselves (in_band/in_band.h). The first
  // call takes the memory. FailedPrecondition: the network or its placement does not allow such
  // circuits.
  virtual absl::StatusOr<InBand*> in_band() = 0;

  // The interface for step programs that the workers run (step_workers/step_programs.h).
  // FailedPrecondition: other data planes run some of the stages, or the fabric is unloaded.
  virtual absl::StatusOr<StepPrograms*> step_programs() = 0;

  // Circuits on a clock (slots/schedules.h). Null: another data plane runs stage 0.
  virtual Schedules* schedules() { return nullptr; }

  // Copies of frames (taps/tap.h). Null: the fabric has none.
  virtual Taps* taps() { return nullptr; }

  // Adds a host port while the fabric runs. The device is opened first. If a step fails, the fabric
  // is as it was before. Packets of other rows are not delayed or lost. InvalidArgument names the
  // field as "ports[2].rows", counted behind the present ports. FailedPrecondition: the fabric was
  // loaded without what the port needs. DeadlineExceeded: a worker made no pass for two seconds.
  virtual absl::Status AddPort(const HostPortConfig&) { return NoLivePorts(); }
  // Removes a host port. The frames that wait in it are dropped as kPortRemoved, and packets that
  // arrive at its rows from then on as kNoPortAtRow. Its counts stay in the account. NotFound: no
  // port has this name. DeadlineExceeded as above; the rows are free, and the device is closed when
  // the worker goes on.
  virtual absl::Status RemovePort(const std::string&) { return NoLivePorts(); }
  // Sets the rows that have a host port on another data plane, as in FabricConfig.
  virtual absl::Status SetRowsElsewhere(const std::vector<Row>&) { return NoLivePorts(); }
  // The host ports as they are now.
  virtual std::vector<HostPortConfig> host_ports() const { return config().ports; }
  // The name of the port with this number in a tapped frame (taps/tapped_frame.h), also if the port
  // was removed. Empty: no port had this number.
  virtual std::string PortName(uint32_t number) const {
    return number < config().ports.size() ? config().ports[number].name : "";
  }

  // For each port and trunk, in the order of the counters: which workers use its queue pairs, as it
  // was opened, and the present state of its device.
  virtual std::vector<PortStatus> port_status() const { return {}; }
  // How many passes the workers have made. The call costs hardly any time.
  virtual WorkerPasses worker_passes() const { return {}; }
  // A sentence for each present problem of a port or trunk.
  virtual std::vector<std::string> problems() const { return {}; }

  virtual Snapshot snapshot() const = 0;
  // The same without links. It is cheap even on a large network.
  virtual Snapshot summary() const = 0;

  // The next functions are for readers that want some of many links (fabric/link_query.h). A link
  // is named by its index in the network. Readers may ask only for links of the stages that run
  // here; stages() returns the first and the last of them.
  virtual std::pair<int, int> stages() const = 0;
  // Reads one figure of consecutive links, beginning with `first`, all of one stage.
  virtual void ReadLinkFigures(LinkFigure figure, uint64_t first,
                               std::span<uint64_t> values) const = 0;
  virtual LinkCounters ReadLink(uint64_t index) const = 0;

 private:
  static absl::Status NoLivePorts() {
    return absl::UnimplementedError("ports of this fabric are fixed when it is loaded");
  }
};

}  // namespace bfly::dataplane
