// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "dataplane/steps/greedy.h"
#include "dataplane/steps/greedy_rule.h"
#include "dataplane/steps/route_run.h"
#include "dataplane/steps/step_clock.h"

namespace bfly::dataplane {
namespace {

// The answer of a head that may refuse does not have the number of the packet that it took, so the
// tail remembers what it has sent.
template <bool kLimited>
class LoggedGreedyRule : public GreedyRule<kLimited> {
 public:
  using Base = GreedyRule<kLimited>;
  using Node = typename Base::Node;

  LoggedGreedyRule(CrossingLog& log, const Network& network, std::vector<GreedyPacket>& packets,
                   uint32_t limit)
      : Base(network, packets, limit), log_(log), network_(network) {
    if (kLimited) sent_.resize(network.link_count());
  }

  // The bytes of a node that has links.
  static uint64_t NodeBytes(const Network& network) {
    return sizeof(Node) + (kLimited ? static_cast<size_t>(network.ports()) * sizeof(uint32_t) : 0);
  }

  template <typename Out>
  void Send(const At& at, Node& node, Out& out) const {
    Noting<Out> noting{*this, at, out};
    Base::Send(at, node, noting);
  }
  void Settle(const At& at, Node& node, int port, const typename Base::Answer& refused,
              typename Base::Tally& tally) const requires kLimited {
    if (refused == Base::kNone) {
      log_.Cross(Sent(at, port), at.level, at.row, port, at.step + 1);
    }
    Base::Settle(at, node, port, refused, tally);
  }

 private:
  template <typename Out>
  struct Noting {
    const LoggedGreedyRule& rule;
    const At& at;
    Out& out;
    void Put(int port, const typename Base::Message& message) {
      if constexpr (kLimited) {
        rule.Sent(at, port) = message.packet;
      } else {
        rule.log_.Cross(message.packet, at.level, at.row, port, at.step + 1);
      }
      out.Put(port, message);
    }
  };

  uint32_t& Sent(const At& at, int port) const {
    return sent_[network_.link_index({network_.stage_of_hop(at.level), at.row, port})];
  }

  CrossingLog& log_;
  const Network& network_;
  // The packet that was sent last over each link. Only the tail of a link uses its entry.
  mutable std::vector<uint32_t> sent_;
};

absl::Status CheckGreedyRoute(const Network& network, const RouteRequest&) {
  return CheckGreedyNetwork(network);
}

uint64_t GreedyNodeBytes(const Network& network, const RouteRequest& request) {
  return request.queue_limit > 0 ? LoggedGreedyRule<true>::NodeBytes(network)
                                 : LoggedGreedyRule<false>::NodeBytes(network);
}

template <bool kLimited>
void RunGreedyWith(RouteRun& run) {
  const Relation& relation = run.request.relation;
  std::vector<GreedyPacket> packets(relation.destinations.size());
  for (size_t packet = 0; packet < packets.size(); ++packet) {
    packets[packet].destination = relation.destinations[packet];
  }
  const LoggedGreedyRule<kLimited> rule(run.log, run.network, packets, run.request.queue_limit);
  StepClock<LoggedGreedyRule<kLimited>> clock(run.network, rule, run.crew);
  StepLimits limits;
  if (run.request.max_steps > 0) limits.steps = run.request.max_steps;
  run.crew.Lead([&] {
    for (Row input = 0; input < run.network.rows(); ++input) {
      for (uint32_t p = relation.first[input]; p < relation.first[input + 1]; ++p) {
        run.log.Begin(p, input, 0);
        rule.Hold(clock.node(0, input), p);
      }
      clock.Wake(0, input);
    }
    clock.Run(limits);
  });
  run.report.steps = clock.step();
}

absl::Status RunGreedyRoute(RouteRun& run) {
  if (run.request.queue_limit > 0) {
    RunGreedyWith<true>(run);
  } else {
    RunGreedyWith<false>(run);
  }
  return absl::OkStatus();
}

}  // namespace

RouteProgramRun GreedyRoute() {
  return {
      .program = {"greedy", "every packet goes on as soon as it can; what waves are compared with",
                  "butterfly without extra stages, wrapped_butterfly with passes: 1, "
                  "randomly_wired_butterfly, dilated_butterfly, multibutterfly"},
      .check = CheckGreedyRoute,
      .node_bytes = GreedyNodeBytes,
      .run = RunGreedyRoute};
}

}  // namespace bfly::dataplane
