// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/h_relation_groups.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {
namespace {

uint32_t CeilOf(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

// For each row: the messages that it holds.
using Held = std::vector<std::vector<uint32_t>>;

uint32_t MostHeld(const Held& held) {
  size_t most = 0;
  for (const std::vector<uint32_t>& row : held) most = std::max(most, row.size());
  return static_cast<uint32_t>(most);
}

// The packs of a round: a relation, and the messages of pack p at first[p]..first[p + 1] - 1.
struct Packs {
  Relation relation;
  std::vector<uint32_t> first;
  std::vector<uint32_t> messages;
};

// `shift`: a group has 2^shift rows.
Packs Pack(const Held& held, const std::vector<Row>& destinations, int shift, uint32_t most) {
  Packs packs;
  const Row mask = (Row{1} << shift) - 1;
  std::vector<Row> turn(held.size() >> shift);  // for each group: counts the turns of its rows
  packs.relation.first.push_back(0);
  packs.first.push_back(0);
  for (const std::vector<uint32_t>& row : held) {
    const auto group_of = [&](uint32_t message) { return destinations[message] >> shift; };
    std::vector<uint32_t> sorted = row;
    std::ranges::stable_sort(sorted, {}, group_of);
    for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
      const Row group = group_of(sorted[begin]);
      while (end < sorted.size() && end - begin < most && group_of(sorted[end]) == group) ++end;
      packs.relation.destinations.push_back(group << shift | (turn[group]++ & mask));
      packs.messages.insert(packs.messages.end(), sorted.begin() + static_cast<long>(begin),
                            sorted.begin() + static_cast<long>(end));
      packs.first.push_back(static_cast<uint32_t>(packs.messages.size()));
    }
    packs.relation.first.push_back(static_cast<uint32_t>(packs.relation.destinations.size()));
  }
  return packs;
}

void Add(const PackedRound& round, PackedHRelationResult& result) {
  result.stages += round.result.stages;
  result.bit_time += round.result.bit_time;
  result.word_time += round.result.word_time;
  result.congestion = std::max(result.congestion, round.result.congestion);
  result.storage_bits = std::max(result.storage_bits, round.result.storage_bits);
  result.storage_words = std::max(result.storage_words, round.result.storage_words);
}

absl::StatusOr<uint32_t> BitsOfPack(uint32_t pack, const Network& network,
                                    const HRelationConfig& config) {
  const auto log_rows = static_cast<uint64_t>(network.dimension());
  const uint64_t bits = uint64_t{pack} * (config.message_bits + log_rows);
  if (bits <= kMaxHRelationMessageBits) return static_cast<uint32_t>(bits);
  return absl::InvalidArgumentError(absl::StrCat("columns: packs of ", pack, " messages have ",
                                                 bits, " bits, at most ", kMaxHRelationMessageBits,
                                                 " are allowed; use more columns or a smaller h"));
}

}  // namespace

absl::Status CheckPackedHRelation(const Network& network, const HRelationConfig& config,
                                  int columns) {
  if (absl::Status status = CheckHRelation(network, config); !status.ok()) return status;
  if (columns < 1 || columns > network.dimension()) {
    return absl::InvalidArgumentError(
        absl::StrCat("columns: ", columns, " is not in 1..", network.dimension(), ", log N"));
  }
  if (config.log != nullptr || config.active_rows_only) {
    return absl::InvalidArgumentError(
        "columns: packed messages have no log of their crossings, and need all rows active");
  }
  const uint32_t groups = uint32_t{1} << columns;
  HRelationConfig of_packs = config;
  of_packs.h = 2 * groups;
  if (absl::Status status = CheckHRelation(network, of_packs); !status.ok()) {
    return {status.code(), absl::StrCat("columns: ", columns, " give a row up to ", of_packs.h,
                                        " packs; use fewer columns (", status.message(), ")")};
  }
  return BitsOfPack(CeilOf(config.h, groups), network, config).status();
}

absl::StatusOr<PackedHRelationResult> RunPackedHRelation(const Network& network,
                                                         const Relation& relation,
                                                         const HRelationConfig& config, int columns,
                                                         Crew& crew) {
  if (absl::Status status = CheckPackedHRelation(network, config, columns); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckRelation(relation, network.rows(), config.h); !status.ok()) {
    return status;
  }
  const int log_rows = network.dimension();
  PackedHRelationResult result{.messages = relation.destinations.size()};
  Held held(network.rows());
  for (Row row = 0; row < network.rows(); ++row) {
    for (uint32_t m = relation.first[row]; m < relation.first[row + 1]; ++m) held[row].push_back(m);
  }
  for (int level = 0; level < log_rows && result.trouble.empty(); level += columns) {
    PackedRound round{.first_level = level, .last_level = std::min(level + columns, log_rows)};
    const uint32_t groups = uint32_t{1} << (round.last_level - level);
    round.most_held = std::max(config.h, MostHeld(held));
    round.pack = CeilOf(round.most_held, groups);
    const absl::StatusOr<uint32_t> bits = BitsOfPack(round.pack, network, config);
    if (!bits.ok()) return bits.status();
    const Packs packs = Pack(held, relation.destinations, log_rows - round.last_level, round.pack);
    HRelationConfig of_round = config;
    of_round.h = 2 * groups;
    of_round.message_bits = *bits;
    of_round.first_level = round.first_level;
    of_round.last_level = round.last_level;
    std::vector<Row> ended;
    of_round.ended = &ended;
    absl::StatusOr<HRelationResult> ran = RunHRelation(network, packs.relation, of_round, crew);
    if (!ran.ok()) return ran.status();
    round.result = *std::move(ran);
    if (!round.result.finished) {
      result.trouble = absl::StrCat("columns ", round.first_level, " to ", round.last_level - 1,
                                    ": ", round.result.trouble);
    }
    Add(round, result);
    result.rounds.push_back(std::move(round));
    if (!result.trouble.empty()) break;
    for (std::vector<uint32_t>& row : held) row.clear();
    for (size_t pack = 0; pack < ended.size(); ++pack) {
      std::vector<uint32_t>& row = held[ended[pack]];
      row.insert(row.end(), packs.messages.begin() + packs.first[pack],
                 packs.messages.begin() + packs.first[pack + 1]);
    }
  }
  if (!result.trouble.empty()) return result;
  for (Row row = 0; row < network.rows(); ++row) {
    result.delivered += static_cast<uint64_t>(std::ranges::count_if(
        held[row], [&](uint32_t m) { return relation.destinations[m] == row; }));
  }
  result.finished = result.delivered == result.messages;
  if (!result.finished) {
    return absl::InternalError(absl::StrCat(result.messages - result.delivered, " of ",
                                            result.messages, " messages are at wrong rows"));
  }
  return result;
}

}  // namespace bfly::dataplane
