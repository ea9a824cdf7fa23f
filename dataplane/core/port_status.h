// SPDX-License-Identifier: Apache-2.0
// Who uses the queue pairs of a port or trunk, what brings frames to the right one, and whether its
// device works.
#pragma once

#include <string>
#include <vector>

namespace bfly::dataplane {

// How a received frame comes to the worker that carries it over its first hop here.
enum class Steering {
  kNone,       // one worker receives all frames and needs them all, or nothing is received
  kFlowRules,  // the device puts a frame at a queue pair of that worker, by flow rules
  kRss,        // the device spreads flows over the queue pairs; workers hand frames over
  kSoftware,   // the device chooses queue pairs by itself; workers hand frames over
  kSender,     // the sending end of the trunk puts a frame at a queue pair of that worker
};

struct PortStatus {
  std::string name;
  int queue_pairs = 1;
  // Of the workers that receive, or of those that send where nothing is received for the fabric.
  // Each stands there once.
  std::vector<int> lcores;
  Steering steering = Steering::kNone;
  // With kFlowRules and kSender: the rows whose worker has none of the queue pairs. Other workers
  // receive their frames and hand them over.
  int rows_handed_over = 0;
  // As it is now: whether the device has a link to its other side, and what is wrong with it
  // (empty: nothing).
  bool link_up = true;
  std::string problem = {};
};

}  // namespace bfly::dataplane
