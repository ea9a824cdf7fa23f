// SPDX-License-Identifier: Apache-2.0
#include "topologies/permutation.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "topologies/random.h"
#include "topologies/tag.h"

namespace bfly {
namespace {

Row RotateRight(Row row, int by, int dimension) {
  if (by == 0) return row;
  return (row >> by) | ((row << (dimension - by)) & ((Row{1} << dimension) - 1));
}

struct NamedPattern {
  const char* name;
  Row (*output)(Row input, int dimension);
};

constexpr NamedPattern kPatterns[] = {
    {"identity", [](Row w, int) { return w; }},
    {"bitrev", ReverseRow},
    {"transpose", [](Row w, int d) { return RotateRight(w, d / 2, d); }},
    {"bitcomp", [](Row w, int d) { return ~w & ((Row{1} << d) - 1); }},
    {"shuffle", [](Row w, int d) { return RotateRight(w, d - 1, d); }},
    {"tornado",
     [](Row w, int d) {
       const Row rows = Row{1} << d;
       return (w + (rows + 1) / 2 - 1) % rows;
     }},
    {"neighbor", [](Row w, int d) { return (w + 1) % (Row{1} << d); }},
};

}  // namespace

std::vector<std::string> PermutationNames() {
  std::vector<std::string> names{"random"};
  for (const NamedPattern& pattern : kPatterns) names.push_back(pattern.name);
  return names;
}

absl::StatusOr<Permutation> PermutationByName(absl::string_view name, uint32_t rows,
                                              uint64_t seed) {
  if (!std::has_single_bit(rows)) {
    return absl::InvalidArgumentError(absl::StrCat("rows: ", rows, " is not a power of two"));
  }
  if (name == "random") return RandomPermutation(seed, RandomStream::kPermutation, rows);
  for (const NamedPattern& pattern : kPatterns) {
    if (name != pattern.name) continue;
    Permutation permutation(rows);
    for (Row input = 0; input < rows; ++input) {
      permutation[input] = pattern.output(input, std::countr_zero(rows));
    }
    return permutation;
  }
  return absl::InvalidArgumentError(absl::StrCat("permutation: \"", name, "\" is not known; use ",
                                                 absl::StrJoin(PermutationNames(), ", ")));
}

absl::Status CheckPermutation(const Permutation& permutation, uint32_t rows) {
  if (permutation.size() != rows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "permutation: ", permutation.size(), " outputs given, the network has ", rows, " rows"));
  }
  std::vector<bool> taken(rows);
  for (Row input = 0; input < rows; ++input) {
    const Row output = permutation[input];
    if (output >= rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("permutation[", input, "]: ", output, " is outside 0..", rows - 1));
    }
    if (taken[output]) {
      return absl::InvalidArgumentError(
          absl::StrCat("permutation[", input, "]: output ", output, " is given twice"));
    }
    taken[output] = true;
  }
  return absl::OkStatus();
}

}  // namespace bfly
