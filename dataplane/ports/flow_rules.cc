// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/flow_rules.h"

#include <rte_flow.h>

#include <algorithm>

#include "dataplane/ports/dpdk_log.h"

namespace bfly::dataplane {

std::unique_ptr<FlowRules> FlowRules::Install(uint16_t device,
                                              const std::vector<QueueRules>& choices) {
  const DpdkLogCapture log;  // a driver that takes no rules says so at length
  for (const QueueRules& rules : choices) {
    if (rules.empty() || rules.size() > kMost) continue;
    std::unique_ptr<FlowRules> flows(new FlowRules(device));
    const auto add = [&flows](const QueueRule& rule) { return flows->Add(rule); };
    if (std::all_of(rules.begin(), rules.end(), add)) return flows;
  }
  return nullptr;
}

bool FlowRules::Add(const QueueRule& rule) {
  rte_flow_item_eth address{}, mask{};
  const bool source = rule.field == QueueRule::Field::kSource;
  StoreMac((source ? address.src : address.dst).addr_bytes, rule.address);
  StoreMac((source ? mask.src : mask.dst).addr_bytes, rule.mask);
  const rte_flow_item pattern[] = {
      {.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &address, .last = nullptr, .mask = &mask},
      {.type = RTE_FLOW_ITEM_TYPE_END, .spec = nullptr, .last = nullptr, .mask = nullptr}};
  const rte_flow_action_queue queue = {.index = rule.queue};
  const rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue},
                                     {.type = RTE_FLOW_ACTION_TYPE_END, .conf = nullptr}};
  rte_flow_attr attributes{};
  attributes.ingress = 1;
  rte_flow_error error{};
  rte_flow* const flow = rte_flow_create(device_, &attributes, pattern, actions, &error);
  if (flow != nullptr) flows_.push_back(flow);
  return flow != nullptr;
}

FlowRules::~FlowRules() {
  rte_flow_error error{};
  for (rte_flow* flow : flows_) rte_flow_destroy(device_, flow, &error);
}

}  // namespace bfly::dataplane
