// SPDX-License-Identifier: Apache-2.0
// When a claim applies to a point. Every condition gives the reason why not, or nothing.
#pragma once

#include <string>
#include <utility>

#include "control/measure/point.h"

namespace bfly::control {

std::string Unless(bool applies, const char* reason);

// Greedy routing of p-flips with Poisson arrivals over a link for each edge, as in the paper.
std::string PaperModel(const Point& point);
// Where rho is the load factor: the paper's model on one of its networks. Elsewhere rho only says
// how much is sent.
std::string HasLoadFactor(const Point& point);
std::string OnCube(const Point& point);
std::string OnButterfly(const Point& point);
std::string Stable(const Point& point);  // rho < 1
std::string Continuous(const Point& point);
std::string Fifo(const Point& point);
std::string Sharing(const Point& point);
std::string Priorities(const Point& point);
std::string OneStage(const Point& point);  // d = 1

// The first reason of several conditions.
template <typename... Conditions>
auto AllOf(Conditions... conditions) {
  return [=](const Point& point) {
    std::string reason;
    ((reason.empty() ? void(reason = conditions(point)) : void()), ...);
    return reason;
  };
}

}  // namespace bfly::control
