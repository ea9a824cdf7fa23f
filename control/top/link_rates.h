// SPDX-License-Identifier: Apache-2.0
// The rate of every link, from groups of links with equal settings. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "bfly/v1/fabric.pb.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {

class LinkRates {
 public:
  // A network of so many stages. Groups that cannot be read are left out.
  LinkRates(const v1::GetLinksResponse& links, uint32_t stages);
  // Bits a second; 0: the link has no rate.
  uint64_t Of(uint32_t stage, uint32_t row, uint32_t port) const;
  bool any() const { return any_; }

 private:
  struct Group {
    std::vector<Range> rows, ports;  // empty: all
    uint64_t rate = 0;
  };
  std::vector<std::vector<Group>> by_stage_;
  bool any_ = false;
};

}  // namespace bfly::control
