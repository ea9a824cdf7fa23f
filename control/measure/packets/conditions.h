// SPDX-License-Identifier: Apache-2.0
// When a claim applies to a point. Every condition gives the reason why not, or nothing.
#pragma once

#include <string>
#include <utility>

#include "control/measure/packets/packet_point.h"

namespace bfly::control {

std::string Unless(bool applies, const char* reason);

// Greedy routing of p-flips with Poisson arrivals over a link for each edge, as in the paper.
std::string PaperModel(const PacketPoint& point);
// Where rho is the load factor: the paper's model on one of its networks. Elsewhere rho only says
// how much is sent.
std::string HasLoadFactor(const PacketPoint& point);
std::string OnCube(const PacketPoint& point);
std::string OnButterfly(const PacketPoint& point);
std::string Stable(const PacketPoint& point);  // rho < 1
std::string Continuous(const PacketPoint& point);
std::string Fifo(const PacketPoint& point);
std::string Sharing(const PacketPoint& point);
std::string Priorities(const PacketPoint& point);
std::string OneStage(const PacketPoint& point);  // d = 1

// The first reason of several conditions, of points or of values.
template <typename... Conditions>
auto AllOf(Conditions... conditions) {
  return [=](const auto& point) {
    std::string reason;
    ((reason.empty() ? void(reason = conditions(point)) : void()), ...);
    return reason;
  };
}

}  // namespace bfly::control
