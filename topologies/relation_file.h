// SPDX-License-Identifier: Apache-2.0
// Relations (relation.h) from a file.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topologies/permutation.h"
#include "topologies/relation.h"

namespace bfly {

// The most messages that a file may name: 2^24.
inline constexpr uint64_t kMaxFileMessages = uint64_t{1} << 24;

// Each line holds the outputs of one input's messages, separated by white space or commas; the
// first line is for input 0. '-' is an input that sends nothing. Empty lines and text behind '#'
// are skipped, so a file of a permutation (permutation.h) is a file of a relation too.
// InvalidArgument lists the first kMaxFileErrors errors, each with its line. `where` names the text
// in messages.
absl::StatusOr<Relation> RelationFromText(absl::string_view text, uint32_t rows,
                                          absl::string_view where);
absl::StatusOr<Relation> ReadRelationFile(const std::string& path, uint32_t rows);

}  // namespace bfly
