// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuits/circuit_comparison.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace bfly::control {
namespace {

struct Pair {
  const char* first;
  const char* second;
  const char* figure;
};
constexpr Pair kPairs[] = {
    {"minimum", "one_choice", "congestion"},
    {"collision", "one_choice", "congestion"},
    {"minimum", "valiant", "congestion"},
    {"data_server_minimum", "data_server_single_copy", "congestion"},
    {"data_server_minimum", "data_server_single_copy", "disk_contention"},
};

const std::string& ProtocolOf(const Measurement& m) {
  const CircuitPoint& point = m.point;
  return point.protocol;
}

bool Paired(const CircuitPoint& a, const CircuitPoint& b) {
  return a.d == b.d && a.permutation == b.permutation &&
         (a.network == b.network || !a.names_network) && a.multiplicity == b.multiplicity;
}

}  // namespace

std::vector<SeedComparison> CompareBySeed(const std::vector<Measurement>& series) {
  std::vector<SeedComparison> comparisons;
  for (const Pair& pair : kPairs) {
    for (const Measurement& a : series) {
      if (ProtocolOf(a) != pair.first) continue;
      for (const Measurement& b : series) {
        if (ProtocolOf(b) != pair.second || !Paired(a.point, b.point)) continue;
        SeedComparison& c = comparisons.emplace_back();
        c.figure = pair.figure;
        c.first = a.point.Curve();
        c.second = b.point.Curve();
        c.d = a.point.d();
        std::vector<double> differences;
        for (size_t i = 0; i < std::min(a.trials.size(), b.trials.size()); ++i) {
          const double difference =
              b.trials[i].figure(pair.figure) - a.trials[i].figure(pair.figure);
          differences.push_back(difference);
          ++(difference > 0 ? c.less : difference < 0 ? c.more : c.equal);
        }
        c.difference = EstimateMean(differences);
      }
    }
  }
  return comparisons;
}

}  // namespace bfly::control
