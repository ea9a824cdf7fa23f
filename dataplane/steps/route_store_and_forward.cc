// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/steps/route_run.h"
#include "dataplane/steps/step_clock.h"
#include "dataplane/steps/store_and_forward.h"
#include "dataplane/steps/store_and_forward_rule.h"
#include "topologies/faulty_switches.h"
#include "topologies/usable_links.h"

namespace bfly::dataplane {
namespace {

// A step of the model is two steps of the clock.
constexpr uint64_t kClockSteps = 2;

class LoggedStoreAndForwardRule : public StoreAndForwardRule {
 public:
  template <typename... Args>
  explicit LoggedStoreAndForwardRule(CrossingLog& log, Args&&... args)
      : StoreAndForwardRule(std::forward<Args>(args)...), log_(log) {}

  template <typename Out>
  void Send(const At& at, Node& node, Out& out) const {
    Noting<Out> noting{log_, at, out};
    StoreAndForwardRule::Send(at, node, noting);
  }

 private:
  // A packet that is sent crosses the link: the sender has asked before.
  template <typename Out>
  struct Noting {
    CrossingLog& log;
    const At& at;
    Out& out;
    void Put(int port, const Message& message) {
      if (message != kAsk) log.Cross(message, at.level, at.row, port, at.step / kClockSteps + 1);
      out.Put(port, message);
    }
  };

  CrossingLog& log_;
};

absl::Status CheckStoreAndForwardRoute(const Network& network, const RouteRequest& request) {
  // Destinations are free, so what the check says of a pattern does not matter.
  return CheckStoreAndForward(network, {.packets = 1, .buffer = request.buffer});
}

uint64_t StoreAndForwardNodeBytes(const Network& network, const RouteRequest&) {
  return sizeof(StoreAndForwardRule::Node) +
         static_cast<size_t>(network.ports()) * sizeof(uint32_t);  // Node::held
}

absl::Status RunStoreAndForwardRoute(RouteRun& run) {
  const FaultySwitches faulty(run.faults);
  const std::vector<bool> usable = UsableLinks(run.network, faulty);
  const std::vector<Row>& outputs = run.request.relation.destinations;
  std::vector<uint32_t> latencies(outputs.size());
  const LoggedStoreAndForwardRule rule(run.log, run.network, run.request.buffer, run.request.seed,
                                       outputs, usable, latencies);
  StepClock<LoggedStoreAndForwardRule> clock(run.network, rule, run.crew);
  StepLimits limits{.idle_steps = 2 * kClockSteps};
  if (run.request.max_steps > 0) {
    limits.steps = std::min(run.request.max_steps, UINT64_MAX / kClockSteps) * kClockSteps;
  }
  StepEnd end = StepEnd::kDone;
  run.crew.Lead([&] {
    const std::vector<uint32_t>& first = run.request.relation.first;
    for (Row input = 0; input < run.network.rows(); ++input) {
      for (uint32_t packet = first[input]; packet < first[input + 1]; ++packet) {
        if (!run.sent[packet]) continue;
        run.log.Begin(packet, input, 0);
        clock.node(0, input).packets.push_back(packet);
      }
      clock.Wake(0, input);
    }
    end = clock.Run(limits);
  });
  run.report.steps = (clock.step() + kClockSteps - 1) / kClockSteps;
  if (end == StepEnd::kStuck) run.report.trouble = "no packet has moved in the last 2 steps";
  return absl::OkStatus();
}

}  // namespace

RouteProgramRun StoreAndForwardRoute() {
  return {.program = {.name = "store_and_forward",
                      .about = "greedy, a switch with little room; Leighton and Maggs 1992",
                      .networks = "butterfly without extra stages, randomly_wired_butterfly, "
                                  "dilated_butterfly, multibutterfly",
                      .around_faults = true},
          .check = CheckStoreAndForwardRoute,
          .node_bytes = StoreAndForwardNodeBytes,
          .run = RunStoreAndForwardRoute};
}

}  // namespace bfly::dataplane
