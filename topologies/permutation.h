// SPDX-License-Identifier: Apache-2.0
// Permutations of the rows by name or from a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topologies/network.h"

namespace bfly {

// permutation[input] is the output.
using Permutation = std::vector<Row>;

// By name, for `rows` a power of two and d = log2(rows):
//   identity   w
//   random     uniform, a pure function of `seed`
//   bitrev     the address read from right to left
//   transpose  the address rotated right by floor(d / 2)
//   bitcomp    every bit complemented
//   shuffle    the address rotated left by 1
//   tornado    w + ceil(rows / 2) - 1 modulo rows
//   neighbor   w + 1 modulo rows
// The last four are BookSim's patterns of these names for one ring of k = rows nodes.
// InvalidArgument lists the names.
absl::StatusOr<Permutation> PermutationByName(absl::string_view name, uint32_t rows, uint64_t seed);
std::vector<std::string> PermutationNames();

// Each line holds one output; the first line is for input 0. Empty lines and text behind '#' are
// skipped. InvalidArgument lists the first kMaxFileErrors errors, each with its line. `where` names
// the text in messages.
// the text in messages.
inline constexpr int kMaxFileErrors = 20;
absl::StatusOr<Permutation> PermutationFromText(absl::string_view text, uint32_t rows,
                                                absl::string_view where);
absl::StatusOr<Permutation> ReadPermutationFile(const std::string& path, uint32_t rows);

// InvalidArgument names the first input whose output is out of range or taken.
absl::Status CheckPermutation(const Permutation& permutation, uint32_t rows);

}  // namespace bfly
