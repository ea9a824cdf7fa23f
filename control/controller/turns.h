// SPDX-License-Identifier: Apache-2.0
// Who is served next where some callers ask for far more than others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace bfly::control {

// Requests wait in the order in which they came; callers[i] is whose request i is. Returns which
// of them are served next, `most` at most: callers take turns, each with the oldest of its
// requests.
inline std::vector<bool> NextInTurn(const std::vector<uint64_t>& callers, size_t most) {
  std::vector<bool> next(callers.size(), callers.size() <= most);
  if (callers.size() <= most) return next;
  // The number of a request among those of its caller is the turn in which it is served.
  std::unordered_map<uint64_t, size_t> asked;
  std::vector<size_t> turn_of, in_turn;
  turn_of.reserve(callers.size());
  for (const uint64_t caller : callers) {
    const size_t turn = asked[caller]++;
    turn_of.push_back(turn);
    if (turn == in_turn.size()) in_turn.push_back(0);
    ++in_turn[turn];
  }
  size_t whole = 0;  // turns that are served whole
  size_t left = most;
  while (in_turn[whole] <= left) left -= in_turn[whole++];
  for (size_t i = 0; i < callers.size(); ++i) {
    next[i] = turn_of[i] < whole || (turn_of[i] == whole && left > 0);
    if (turn_of[i] == whole && left > 0) --left;
  }
  return next;
}

}  // namespace bfly::control
