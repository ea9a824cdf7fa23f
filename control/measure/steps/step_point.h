// SPDX-License-Identifier: Apache-2.0
// Points of an experiment about step programs: each program has its own keys.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "topologies/network.h"
#include "topologies/permutation.h"

namespace bfly::control {

// The value of a key: a whole number, or a word as in the file ("random", "multibutterfly").
using StepValue = std::variant<double, std::string>;
std::string ToString(const StepValue& value);

struct StepPoint {
  std::string program;  // as in the file: "waves"
  int d = 0;            // 2^d rows
  // The keys that the program has, in the order in which it sweeps them.
  std::vector<std::pair<std::string, StepValue>> values = {};

  uint32_t rows() const { return uint32_t{1} << d; }
  // Null if the program does not have the key.
  const StepValue* Find(const std::string& key) const;
  // The value of a key that the program has. They throw std::bad_variant_access if the value is of
  // the other type, and std::out_of_range if the program does not have the key.
  double number(const std::string& key) const;
  uint32_t count(const std::string& key) const { return static_cast<uint32_t>(number(key)); }
  const std::string& word(const std::string& key) const;
  // Lowers a number to the rows of the network.
  void LimitToRows(const std::string& key);

  std::string Curve() const;     // "waves multibutterfly multiplicity=4 random waves=8"
  std::string ToString() const;  // "waves multibutterfly multiplicity=4 random waves=8 d=6"
  // program, d, rows, n (which is rows, as the papers call it), and the keys.
  nlohmann::ordered_json ToJson() const;
  std::string ToCsv() const;  // the columns of StepCsvColumns()
};

// "program,d," and every key that some program has.
std::string StepCsvColumns();

// Whether a program that has `key` sweeps it at `point`, whose other keys so far are known: kinds
// of networks with one link a direction have no `multiplicity`, and only multibutterflies have
// `parallel_edges`.
bool HasStepKey(const StepPoint& point, const std::string& key);

// What every program makes of the keys `network`, `multiplicity`, `parallel_edges` and `r`, which
// is extra stages. A program without `network` runs on a butterfly.
NetworkSpec StepNetworkSpec(const StepPoint& point, uint64_t seed);
// InvalidArgument names the key of the file.
absl::StatusOr<Network> StepNetwork(const StepPoint& point, uint64_t seed);
// By the key `permutation`.
absl::StatusOr<Permutation> StepPermutation(const StepPoint& point, uint64_t seed);

}  // namespace bfly::control
