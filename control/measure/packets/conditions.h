// SPDX-License-Identifier: Apache-2.0
// Conditions under which a claim applies to a point. Each returns the reason why not, or nothing.
#pragma once

#include <string>
#include <utility>

#include "control/measure/packets/packet_point.h"

namespace bfly::control {

std::string Unless(bool applies, const char* reason);

// The paper's model: greedy routing of p-flips with Poisson arrivals over one link for each edge.
std::string PaperModel(const PacketPoint& point);  // and no extra stages or faults
// rho is the load factor only in the paper's model on one of its networks. Elsewhere rho only says
// how much is sent.
std::string HasLoadFactor(const PacketPoint& point);
std::string OnCube(const PacketPoint& point);
std::string OnButterfly(const PacketPoint& point);  // without extra stages and faults
std::string Stable(const PacketPoint& point);       // rho < 1
std::string Continuous(const PacketPoint& point);
std::string Fifo(const PacketPoint& point);
std::string Sharing(const PacketPoint& point);
std::string Priorities(const PacketPoint& point);
// Coupled sample paths are those of the paper: its model on one of its networks, in continuous
// time, with links that share.
std::string HasCoupledPath(const PacketPoint& point);
std::string OneStage(const PacketPoint& point);  // d = 1

// The first reason that any of several conditions gives. Conditions take a point or its values.
template <typename... Conditions>
auto AllOf(Conditions... conditions) {
  return [=](const auto& point) {
    std::string reason;
    ((reason.empty() ? void(reason = conditions(point)) : void()), ...);
    return reason;
  };
}

}  // namespace bfly::control
