// SPDX-License-Identifier: Apache-2.0
#include "topologies/relation.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "topologies/permutation.h"
#include "topologies/random.h"

namespace bfly {

absl::StatusOr<Relation> RelationByName(absl::string_view name, uint32_t rows, uint32_t h,
                                        uint64_t seed, uint32_t stride) {
  if (!std::has_single_bit(rows) || rows < kMinRows || rows > kMaxRows) {
    return absl::InvalidArgumentError(
        absl::StrCat("rows: ", rows, " is not a power of two in ", kMinRows, "..", kMaxRows));
  }
  if (!std::has_single_bit(stride) || stride > rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("stride: ", stride, " is not a power of two in 1..", rows));
  }
  const uint32_t ports = rows / stride;
  if (h < 1 || h > kMaxRelationMessages / ports) {
    return absl::InvalidArgumentError(
        absl::StrCat("h: ", h, " is not in 1..", kMaxRelationMessages / ports, ", which is ",
                     kMaxRelationMessages, " messages on ", ports, " inputs"));
  }
  std::vector<Permutation> permutations;
  if (name == "random") {
    for (uint32_t copy = 0; copy < h; ++copy) {
      permutations.push_back(
          RandomPermutation(seed, RandomStream::kPermutation, ports, uint64_t{copy} * ports));
    }
  } else {
    absl::StatusOr<Permutation> permutation = PermutationByName(name, ports, seed);
    if (!permutation.ok()) return permutation.status();
    permutations.push_back(*std::move(permutation));
  }
  Relation relation;
  relation.first.reserve(rows + size_t{1});
  relation.destinations.reserve(size_t{ports} * h);
  for (Row row = 0; row < rows; ++row) {
    relation.first.push_back(static_cast<uint32_t>(relation.destinations.size()));
    if (row % stride != 0) continue;
    for (uint32_t copy = 0; copy < h; ++copy) {
      const Permutation& permutation = permutations[copy % permutations.size()];
      relation.destinations.push_back(permutation[row / stride] * stride);
    }
  }
  relation.first.push_back(static_cast<uint32_t>(relation.destinations.size()));
  return relation;
}

absl::Status CheckRelation(const Relation& relation, uint32_t rows, uint32_t h) {
  if (relation.rows() != rows) {
    return absl::InvalidArgumentError(absl::StrCat("the relation has ", relation.rows(),
                                                   " inputs, but the network has ", rows, " rows"));
  }
  if (relation.first.front() != 0 || relation.first.back() != relation.destinations.size() ||
      !std::ranges::is_sorted(relation.first)) {
    return absl::InvalidArgumentError(
        "the relation's inputs do not divide its messages: `first` must ascend from 0 to the "
        "number of messages");
  }
  std::vector<uint64_t> received(rows, 0);
  for (Row row = 0; row < rows; ++row) {
    const uint32_t sent = relation.first[row + 1] - relation.first[row];
    if (sent > h) {
      return absl::InvalidArgumentError(absl::StrCat("row ", row, " sends ", sent,
                                                     " messages, more than h = ", h,
                                                     ": this is not an h-relation"));
    }
    for (uint32_t m = relation.first[row]; m < relation.first[row + 1]; ++m) {
      const Row to = relation.destinations[m];
      if (to >= rows) {
        return absl::InvalidArgumentError(
            absl::StrCat("row ", row, " sends a message to row ", to, "; rows are 0..", rows - 1));
      }
      ++received[to];
    }
  }
  for (Row row = 0; row < rows; ++row) {
    if (received[row] > h) {
      return absl::InvalidArgumentError(absl::StrCat("row ", row, " receives ", received[row],
                                                     " messages, more than h = ", h,
                                                     ": this is not an h-relation"));
    }
  }
  return absl::OkStatus();
}

uint32_t DegreeOf(const Relation& relation) {
  std::vector<uint32_t> received(relation.rows(), 0);
  uint32_t most = 0;
  for (const Row to : relation.destinations) most = std::max(most, ++received[to]);
  for (Row row = 0; row < relation.rows(); ++row) {
    most = std::max(most, relation.first[row + 1] - relation.first[row]);
  }
  return most;
}

}  // namespace bfly
