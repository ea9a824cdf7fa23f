// SPDX-License-Identifier: Apache-2.0
// Which taps want copies of the frames at the links of a block of rows, or at the rows of ports.
// Control builds a table before a worker sees it; a worker reads it only at tapped links and ports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/core/descriptor.h"
#include "dataplane/taps/tap.h"

namespace bfly::dataplane {

struct TapRule {
  uint32_t key = 0;  // the link in its stage, or the row of a port
  TapPlace place = TapPlace::kLink;
  uint16_t stage = 0;
  uint32_t number = 0;  // as TappedFrame::number
  uint32_t row = 0;     // as TappedFrame::row
  // If `tag` is not 0, the rule is about a path: only frames from `input` with this tag match. With
  // `fixed` frames match only if their tag says the ports of the path.
  WireTag tag = 0;
  uint16_t input = 0;
  bool fixed = false;
  bool frames_only = false;  // packets of built-in sources do not match
  std::shared_ptr<TapWriter> writer;

  bool Matches(const Descriptor& packet) const {
    if (frames_only && packet.mbuf == nullptr) return false;
    return tag == 0 ||
           (packet.tag == tag && packet.input == input && (!fixed || packet.fixed != 0));
  }
};

class TapTable {
 public:
  explicit TapTable(std::vector<TapRule> rules);

  // Worker: makes every tap that wants the packet at `key` note it once.
  void Note(uint32_t key, const Descriptor& packet) const;

  // Control: the keys in order; each key is listed once.
  const std::vector<uint32_t>& keys() const { return keys_; }
  bool has(uint32_t key) const { return std::binary_search(keys_.begin(), keys_.end(), key); }

 private:
  std::vector<TapRule> rules_;  // ordered by key, then by writer
  std::vector<uint32_t> keys_;
};

}  // namespace bfly::dataplane
