// SPDX-License-Identifier: Apache-2.0
// How many circuits the chosen links of a large network carry. Set-ups wait for a part of a reading
// only, so circuits may change between its parts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/controller/controller.h"
#include "control/protocols/link_load.h"
#include "topologies/link_choice.h"

namespace bfly::control {

class LinkCircuits {
 public:
  // `network` is the network of the loaded fabric, and `choice` chooses among its links. All must
  // outlive the object.
  LinkCircuits(Controller& controller, const Network& network, const LinkChoice& choice)
      : controller_(controller), network_(network), choice_(choice) {}

  // Set-ups wait until `read` returns. ABORTED, here and below: another fabric was loaded.
  absl::Status Read(const std::function<void(const LinkLoad&)>& read) const;

  // Returns at most `most` of the first links of begin .. end - 1 that carry circuits.
  absl::StatusOr<std::vector<uint64_t>> Find(uint64_t begin, uint64_t end, uint64_t most) const;

  // What circuits say about the `wanted` links that come first by circuits, then by packets.
  struct Ranking {
    // The links that may be among them, at most `room`, in order.
    std::vector<uint64_t> first;
    // If true, no other link is among them. If false, the rest have a bit in `level` or, if `level`
    // is empty, no circuits.
    bool complete = false;
    std::string level;
  };
  absl::StatusOr<Ranking> Rank(uint64_t wanted, uint64_t room) const;

 private:
  // Calls visit(index, circuits) for chosen links of begin .. end - 1, in order, until it returns
  // false.
  template <typename Visit>
  absl::Status ForEach(uint64_t begin, uint64_t end, Visit visit) const;
  // Returns how many chosen links carry k circuits, for every k above 0 that occurs.
  absl::StatusOr<std::map<uint32_t, uint64_t>> Count() const;
  // Calls visit(index, circuits) for the chosen links that carry at least `least` circuits, which
  // is above 0, in no order.
  template <typename Visit>
  absl::Status ForEachWith(uint32_t least, Visit visit) const;
  // Calls read(load, first, end) until it has seen every line of the load. Set-ups wait for one
  // call.
  template <typename ReadLines>
  absl::Status ByLines(ReadLines read) const;

  Controller& controller_;
  const Network& network_;
  const LinkChoice& choice_;
};

}  // namespace bfly::control
