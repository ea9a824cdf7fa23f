// SPDX-License-Identifier: Apache-2.0
// Which workers use the queue pairs of a port or trunk, how frames come to the right queue pair,
// and whether its device works.
#pragma once

#include <string>
#include <vector>

namespace bfly::dataplane {

// How a received frame comes to the worker that carries it over its first hop here.
enum class Steering {
  kNone,       // one worker receives all frames and needs them all, or no frames are received
  kFlowRules,  // the device puts a frame at a queue pair of that worker, by flow rules
  kRss,        // the device spreads flows over the queue pairs; workers hand frames over
  kSoftware,   // the device chooses queue pairs by itself; workers hand frames over
  kSender,     // the sending end of the trunk puts a frame at a queue pair of that worker
};

struct PortStatus {
  std::string name;
  int queue_pairs = 1;
  // The lcores of the workers that receive or, if no frames are received for the fabric, of the
  // workers that send. Each lcore is listed once.
  std::vector<int> lcores;
  Steering steering = Steering::kNone;
  // With kFlowRules and kSender: the number of rows whose worker has none of the queue pairs. Other
  // workers receive their frames and hand them over.
  int rows_handed_over = 0;
  // The present state: whether the device has a link to its other side, and what is wrong with the
  // device (empty: the device works).
  bool link_up = true;
  std::string problem = {};
};

}  // namespace bfly::dataplane
