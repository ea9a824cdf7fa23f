// SPDX-License-Identifier: Apache-2.0
// h-relations with storage at the nodes that does not grow with h: messages for the same group of
// outputs travel packed together (Pietracaprina 1997, end of the proof of Theorem 1;
// docs/h-relations.md).
//
// A round crosses `columns` columns of splitters (epsilon log N of the paper). Before a round in
// which i columns have been crossed, the rows form blocks of N / 2^i rows, and a block consists of
// G = 2^columns groups of consecutive rows. Every row packs the messages that it holds for a group
// into packs of at most B = ceil(m / G) messages, where m is the most messages that a row holds or
// receives in the end. So a row sends at most 2 G packs, and a group of k rows gets at most 2 G k.
// The packs of a group are meant for its rows in turn, which makes a 2G-relation, but the round
// ends in the column of the groups: a pack stays at the row of the group at which it is. There it
// is unpacked, and the group is a block of the next round. In the last round a group is one row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/steps/h_relation.h"
#include "topologies/crew.h"
#include "topologies/network.h"
#include "topologies/relation.h"

namespace bfly::dataplane {

struct PackedRound {
  int first_level = 0;  // the round crosses columns first_level..last_level-1
  int last_level = 0;
  uint32_t most_held = 0;  // m: messages that a row holds before the round, or receives in the end
  uint32_t pack = 0;       // B: messages in a pack, at most
  // The run that routes packs as messages of at most B (X + log N) bits. Its h is 2 G.
  HRelationResult result = {};
};

struct PackedHRelationResult {
  std::vector<PackedRound> rounds =
      {};  // if `trouble` is set, the last round is the one that did not finish
  uint64_t messages = 0;
  uint64_t delivered = 0;  // messages delivered at the rows that they were for
  bool finished = false;
  // Empty if the run finished; otherwise the round that failed and the reason.
  std::string trouble = {};
  // The next three are sums over the rounds.
  uint64_t stages = 0;
  uint64_t bit_time = 0;
  uint64_t word_time = 0;
  // The next three are the largest of a round.
  uint64_t congestion = 0;  // packs through one node, in one wave
  uint64_t storage_bits = 0;
  uint64_t storage_words = 0;
};

// Routes the relation in rounds of `columns` columns each, 1..log N; the last round may have fewer
// columns. config.h bounds what an input sends and an output receives. config.log and
// config.active_rows_only must not be set, and packs may have 2^20 bits at most. The errors are
// those of RunHRelation, in any round; InvalidArgument also names `columns`.
absl::StatusOr<PackedHRelationResult> RunPackedHRelation(const Network& network,
                                                         const Relation& relation,
                                                         const HRelationConfig& config, int columns,
                                                         Crew& crew);

// Makes the checks of RunPackedHRelation, except for those of the relation and of the packs of
// later rounds, without running. Packs have their own h, 2 * 2^columns. An error about that h
// names `columns`.
absl::Status CheckPackedHRelation(const Network& network, const HRelationConfig& config,
                                  int columns);

}  // namespace bfly::dataplane
