// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/circuit_book.h"

#include <algorithm>

namespace bfly::dataplane {

CircuitBook::CircuitBook(const Network& network, const RouteTable& routes)
    : network_(network),
      routes_(routes),
      counted_(network.rows()),
      standing_(network.rows()),
      at_output_(network.rows()),
      is_behind_(network.rows()) {}

void CircuitBook::Look(Row input) {
  const WireTag now = routes_.circuit(input);
  const auto output_of = [this](WireTag circuit) { return OutputOfTag(network_, TagOf(circuit)); };
  if (standing_[input] != 0) --at_output_[output_of(standing_[input])];
  if (now != 0) ++at_output_[output_of(now)];
  standing_[input] = now;
}

void CircuitBook::Note(Row input) {
  Look(input);
  if (counted_[input] == standing_[input] || is_behind_[input]) return;
  is_behind_[input] = true;
  behind_.push_back(input);
}

void CircuitBook::Settle(Row input) {
  Look(input);
  counted_[input] = standing_[input];
}

void CircuitBook::TakeBack(const GivenCircuits& done, RouteTable& routes) {
  for (const auto& [input, tag] : done.release) counted_[input] = 0;
  for (const auto& [input, tag] : done.install) counted_[input] = ToWire(tag, network_.hops());
  for (const auto* paths : {&done.release, &done.install}) {
    for (const auto& [input, tag] : *paths) Restore(input, routes);
  }
}

void CircuitBook::Restore(Row input, RouteTable& routes) {
  if (standing_[input] == 0) {
    routes.Remove(input);
  } else {
    routes.Install(input, TagOf(standing_[input]));
  }
  Note(input);
}

void CircuitBook::CountNone() {
  for (Row input = 0; input < network_.rows(); ++input) {
    counted_[input] = 0;
    Note(input);
  }
}

GivenCircuits CircuitBook::Behind() {
  std::sort(behind_.begin(), behind_.end());
  GivenCircuits circuits;
  for (const Row input : behind_) {
    const WireTag counted = counted_[input], standing = standing_[input];
    if (counted == standing) continue;
    if (counted != 0) circuits.release.push_back({input, TagOf(counted)});
    if (standing != 0) circuits.install.push_back({input, TagOf(standing)});
  }
  return circuits;
}

void CircuitBook::CaughtUp() {
  for (const Row input : behind_) {
    counted_[input] = standing_[input];
    is_behind_[input] = false;
  }
  behind_.clear();
}

}  // namespace bfly::dataplane
