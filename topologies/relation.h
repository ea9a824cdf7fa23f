// SPDX-License-Identifier: Apache-2.0
// h-relations: routing problems in which every input sends at most h messages and every output
// receives at most h (Valiant 1990; Pietracaprina 1997, section 1).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topologies/wiring.h"

namespace bfly {

// The messages of input w are first[w] .. first[w + 1] - 1, and message m goes to the output
// destinations[m]. `first` has one entry more than there are rows.
struct Relation {
  std::vector<uint32_t> first;
  std::vector<Row> destinations;

  uint32_t rows() const { return first.empty() ? 0 : static_cast<uint32_t>(first.size() - 1); }
};

inline constexpr uint32_t kMaxRelationMessages = 1u << 28;

// h messages an input on each of the rows 0, stride, 2 stride, ..., by the name of a permutation of
// these rows (permutation.h). "random" draws h independent uniform permutations, a pure function of
// `seed`. Any other name sends all h messages of an input to one output. InvalidArgument names h,
// the stride or the permutation and what would be right.
absl::StatusOr<Relation> RelationByName(absl::string_view name, uint32_t rows, uint32_t h,
                                        uint64_t seed, uint32_t stride = 1);

// InvalidArgument says why this is not an h-relation of so many rows: which row sends or
// receives more than h messages, or which message goes to a row that does not exist.
absl::Status CheckRelation(const Relation& relation, uint32_t rows, uint32_t h);

// The smallest h for which this is an h-relation. The relation has passed CheckRelation for some h.
uint32_t DegreeOf(const Relation& relation);

}  // namespace bfly
