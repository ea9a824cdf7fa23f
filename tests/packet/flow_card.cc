// SPDX-License-Identifier: Apache-2.0
#include "tests/packet/flow_card.h"

#include <dlfcn.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include <cstring>
#include <map>

namespace bfly::dataplane {
namespace {

constexpr char kCard[] = "card_";

struct Rule {
  rte_flow_item_eth address, mask;
  uint16_t queue;
};

struct Cards {
  CardTakes takes = CardTakes::kNoRules;
  size_t most = 0;
  uintptr_t next = 1;
  std::map<uintptr_t, Rule> rules;
};

Cards& AllCards() {
  static Cards cards;
  return cards;
}

bool Fits(const rte_ether_addr& address, const rte_ether_addr& mask, const uint8_t* bytes) {
  for (int i = 0; i < RTE_ETHER_ADDR_LEN; ++i) {
    if ((address.addr_bytes[i] ^ bytes[i]) & mask.addr_bytes[i]) return false;
  }
  return true;
}

bool AllOrNothing(const rte_ether_addr& mask) {
  for (uint8_t byte : mask.addr_bytes) {
    if (byte != mask.addr_bytes[0]) return false;
  }
  return mask.addr_bytes[0] == 0 || mask.addr_bytes[0] == 0xff;
}

rte_flow* Create(const rte_flow_attr& attributes, const rte_flow_item* pattern,
                 const rte_flow_action* actions) {
  Cards& cards = AllCards();
  if (cards.takes == CardTakes::kNoRules || cards.rules.size() == cards.most) return nullptr;
  if (attributes.ingress == 0 || attributes.egress != 0) return nullptr;
  if (pattern[0].type != RTE_FLOW_ITEM_TYPE_ETH || pattern[1].type != RTE_FLOW_ITEM_TYPE_END ||
      actions[0].type != RTE_FLOW_ACTION_TYPE_QUEUE ||
      actions[1].type != RTE_FLOW_ACTION_TYPE_END) {
    return nullptr;
  }
  const Rule rule = {.address = *static_cast<const rte_flow_item_eth*>(pattern[0].spec),
                     .mask = *static_cast<const rte_flow_item_eth*>(pattern[0].mask),
                     .queue = static_cast<const rte_flow_action_queue*>(actions[0].conf)->index};
  const bool whole = AllOrNothing(rule.mask.src) && AllOrNothing(rule.mask.dst);
  if (cards.takes == CardTakes::kWholeAddresses && !whole) return nullptr;
  cards.rules.emplace(cards.next, rule);
  return reinterpret_cast<rte_flow*>(cards.next++);
}

}  // namespace

void SetCards(CardTakes takes, size_t most) {
  AllCards().takes = takes;
  AllCards().most = most;
}

size_t CardRules() { return AllCards().rules.size(); }

int QueueByCardRules(const uint8_t* frame) {
  int queue = -1;
  for (const auto& [handle, rule] : AllCards().rules) {
    if (!Fits(rule.address.dst, rule.mask.dst, frame)) continue;
    if (!Fits(rule.address.src, rule.mask.src, frame + RTE_ETHER_ADDR_LEN)) continue;
    if (queue != -1) return -2;
    queue = rule.queue;
  }
  return queue;
}

}  // namespace bfly::dataplane

extern "C" {

rte_flow* rte_flow_create(uint16_t, const rte_flow_attr* attributes, const rte_flow_item pattern[],
                          const rte_flow_action actions[], rte_flow_error*) {
  return bfly::dataplane::Create(*attributes, pattern, actions);
}

int rte_flow_destroy(uint16_t, rte_flow* flow, rte_flow_error*) {
  return bfly::dataplane::AllCards().rules.erase(reinterpret_cast<uintptr_t>(flow)) == 1 ? 0 : -1;
}

int rte_eth_dev_get_port_by_name(const char* name, uint16_t* port) {
  using Function = int (*)(const char*, uint16_t*);
  static const auto of_dpdk =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "rte_eth_dev_get_port_by_name"));
  const size_t prefix = std::strlen(bfly::dataplane::kCard);
  const bool card = std::strncmp(name, bfly::dataplane::kCard, prefix) == 0;
  return of_dpdk(card ? name + prefix : name, port);
}

}  // extern "C"
