// SPDX-License-Identifier: Apache-2.0
// A card with flow rules, played by the test. A program that is linked with flow_card.cc has
// rte_flow_create and rte_flow_destroy of its own, which the linker takes before DPDK's: they keep
// the rules of net_ring devices that are opened as cards. The test asks which queue a frame belongs
// to and gives the frame to that ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bfly::dataplane {

// The device string by which a net_ring device is opened as a card: a name that does not say how
// queues are chosen, as a PCI address does not.
inline std::string AsCard(const std::string& ring_device) { return "card_" + ring_device; }

enum class CardTakes {
  kNoRules,
  kWholeAddresses,  // rules whose masks have all bits of an address, or none
  kMasks,
};

// From now on, and for all cards: which rules they take, and how many at once.
void SetCards(CardTakes takes, size_t most = 1 << 20);

// The rules that all cards have now.
size_t CardRules();

// The queue of the only rule that fits the frame; -1 if none fits, -2 if several fit.
int QueueByCardRules(const uint8_t* frame);

}  // namespace bfly::dataplane
