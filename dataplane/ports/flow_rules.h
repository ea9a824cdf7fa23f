// SPDX-License-Identifier: Apache-2.0
// The rules that a device was given by DPDK's rte_flow.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/ports/queue_rule.h"

struct rte_flow;

namespace bfly::dataplane {

class FlowRules {
 public:
  // A longer set of rules is not given to a device.
  static constexpr size_t kMost = 1024;

  // Gives the started device the first set of `choices` that the device takes completely. Returns
  // null if the device takes no set; it then has no rule of any set.
  static std::unique_ptr<FlowRules> Install(uint16_t device,
                                            const std::vector<QueueRules>& choices);
  // Takes the rules back. The device must not be closed yet.
  ~FlowRules();
  FlowRules(const FlowRules&) = delete;
  FlowRules& operator=(const FlowRules&) = delete;

 private:
  explicit FlowRules(uint16_t device) : device_(device) {}
  bool Add(const QueueRule& rule);

  const uint16_t device_;
  std::vector<rte_flow*> flows_;
};

}  // namespace bfly::dataplane
