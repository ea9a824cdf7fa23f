// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/conditions.h"

namespace bfly::control {

using dataplane::Discipline;

namespace {

bool IsNetworkOfPaper(NetworkKind kind) {
  return kind == NetworkKind::kHypercube || kind == NetworkKind::kButterfly;
}

}  // namespace

std::string Unless(bool applies, const char* reason) { return applies ? "" : reason; }

std::string PaperModel(const PacketPoint& point) {
  if (point.in_rounds) return "packets are sent in rounds";
  if (!point.pattern.empty()) return "destinations are not p-flips";
  if (point.bernoulli) return "arrivals are not Poisson";
  if (point.extra_stages.value_or(0) > 0) return "the network has extra stages";
  if (point.faults.value_or(0) > 0) return "switches are faulty";
  return Unless(point.links == dataplane::LinkModel::kEdge, "the nodes of a switch share links");
}
std::string HasLoadFactor(const PacketPoint& point) {
  const std::string reason = PaperModel(point);
  if (!reason.empty()) return reason;
  return Unless(IsNetworkOfPaper(point.network),
                "the paper gives a load factor of hypercubes and butterflies alone");
}
std::string OnCube(const PacketPoint& point) {
  return Unless(point.network == NetworkKind::kHypercube, "the network is not a hypercube");
}
std::string OnButterfly(const PacketPoint& point) {
  if (point.extra_stages.value_or(0) > 0) return "the network has extra stages";
  if (point.faults.value_or(0) > 0) return "switches are faulty";
  return Unless(point.network == NetworkKind::kButterfly, "the network is not a butterfly");
}
std::string Stable(const PacketPoint& point) {
  return Unless(point.rho < 1, "rho >= 1: there is no stationary state");
}
std::string Continuous(const PacketPoint& point) {
  return Unless(point.slot == 0, "time is slotted");
}
std::string Fifo(const PacketPoint& point) {
  return Unless(point.discipline == Discipline::kFifo, "the links are not FIFO");
}
std::string Sharing(const PacketPoint& point) {
  return Unless(point.discipline == Discipline::kProcessorSharing, "the links do not share");
}
std::string Priorities(const PacketPoint& point) {
  return Unless(point.discipline == Discipline::kPriority, "the links know no priorities");
}
std::string HasCoupledPath(const PacketPoint& point) {
  const auto on_network = [](const PacketPoint& x) {
    return Unless(IsNetworkOfPaper(x.network),
                  "the paper couples paths of hypercubes and butterflies alone");
  };
  return AllOf(PaperModel, on_network, Continuous, Sharing)(point);
}
std::string OneStage(const PacketPoint& x) { return Unless(x.d == 1, "d is not 1"); }

}  // namespace bfly::control
