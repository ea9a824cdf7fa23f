// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/h_relation.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "dataplane/steps/h_relation_bounds.h"
#include "dataplane/steps/h_relation_rule.h"
#include "dataplane/steps/h_relation_wave.h"

namespace bfly::dataplane {
namespace {

absl::Status OutOfRange(absl::string_view field, uint64_t value, uint64_t least, uint64_t most) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is not in ", least, "..", most));
}

absl::Status CheckPowerOfTwo(absl::string_view field, uint64_t value, uint64_t least,
                             uint64_t most) {
  if (std::has_single_bit(value) && value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is not a power of two in ", least, "..", most));
}

HRelationLevels LevelsOf(const Network& network, const HRelationConfig& config) {
  const int last = config.last_level < 0 ? network.dimension() : config.last_level;
  const int greedy_from = network.dimension() - std::countr_zero(config.share);
  return {config.first_level, std::clamp(greedy_from, config.first_level, last), last};
}

uint64_t SmallWeight(const HRelationConfig& config) {
  return std::max<uint64_t>(config.h, static_cast<uint64_t>(config.neighbours));
}

// For every level that follows the protocol, the fewest neighbours that a node divides a batch
// among.
std::vector<int> FewestNeighbours(const Network& network, const HRelationRule& rule) {
  std::vector<int> fewest;
  for (int level = rule.levels().first; level < rule.levels().greedy_from; ++level) {
    int least = INT32_MAX;
    for (Row row = 0; row < network.rows(); ++row) {
      for (int direction = 0; direction < kDirections; ++direction) {
        least = std::min(least, rule.buffers().SlotCount({0, level, row}, direction));
      }
    }
    fewest.push_back(least);
  }
  return fewest;
}

// The bounds with which W and the messages over a link are compared.
struct Bounds {
  uint64_t h_bar = 1;
  bool papers = false;
  uint64_t batch = 1;
  std::vector<uint64_t> of_level;
};

Bounds BoundsOf(const Network& network, const HRelationConfig& config, const HRelationRule& rule) {
  const std::vector<int> fewest = FewestNeighbours(network, rule);
  Bounds bounds;
  bounds.of_level = WeightBounds(network.multiplicity(), config.h, config.neighbours, fewest);
  bounds.papers = config.neighbours > 4 &&
                  std::ranges::all_of(fewest, [&](int r) { return r == config.neighbours; });
  bounds.h_bar = bounds.papers ? PaperHBar(network.multiplicity(), config.h, config.neighbours)
                               : *std::ranges::max_element(bounds.of_level);
  // In the greedy levels a link carries at most the h messages of one output.
  if (rule.levels().greedy_from < rule.levels().last) bounds.batch = config.h;
  for (size_t level = 0; level < fewest.size(); ++level) {
    const auto r = static_cast<uint64_t>(fewest[level]);
    bounds.batch = std::max(bounds.batch, (bounds.of_level[level] + r - 1) / r);
  }
  return bounds;
}

// Bits of a node that has 2 h-bar buffers: in a buffer two bits of a message, two bits that say
// empty, ghost, message or dead, and the number of the neighbour; four counters up to h-bar, and
// two flags.
uint64_t StorageBits(uint64_t h_bar, int r) {
  const auto log_h_bar = static_cast<uint64_t>(std::bit_width(h_bar) - 1);
  const auto log_r = static_cast<uint64_t>(std::bit_width(static_cast<unsigned>(r) - 1));
  return 2 * h_bar * (4 + log_r) + 4 * (log_h_bar + 1) + 2;
}

absl::Status CheckActiveRows(const Relation& relation, uint32_t share) {
  for (Row row = 0; row < relation.rows(); ++row) {
    for (uint32_t m = relation.first[row]; m < relation.first[row + 1]; ++m) {
      if (row % share == 0 && relation.destinations[m] % share == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "row ", row, " sends a message to row ", relation.destinations[m], ", but only rows 0, ",
          share, ", ", 2 * share, ", ... are active (active_rows_only)"));
    }
  }
  return absl::OkStatus();
}

void Add(const HRelationWave& wave, HRelationResult& result) {
  const HRelationRule::Tally tally = wave.tally();
  const auto Most = [](uint64_t& field, uint64_t value) { field = std::max(field, value); };
  ++result.waves;
  result.messages += wave.messages();
  result.stages += wave.stages();
  Most(result.stages_of_a_wave, wave.stages());
  result.least_stages_of_a_wave =
      result.waves == 1 ? wave.stages() : std::min(result.least_stages_of_a_wave, wave.stages());
  Most(result.congestion, tally.congestion);
  Most(result.link_congestion, tally.link_congestion);
  Most(result.largest_weight, tally.largest_weight);
  Most(result.largest_buffers, tally.largest_buffers);
  result.ghosts_made += tally.ghosts_made;
  result.ghosts_replaced += tally.ghosts_replaced;
  result.ghosts_deleted += tally.ghosts_deleted;
  result.requests += tally.requests;
  result.blocked += wave.blocked();
  result.above_bound += tally.above_bound;
  result.homeless += tally.homeless;
  result.deficits += tally.deficits;
  for (const StuckReport& report : wave.stuck()) {
    if (result.stuck.size() < kMaxStuckReports) result.stuck.push_back(report);
    ++result.stuck_classes;
  }
  result.rho = std::max(result.rho, wave.rho());
  result.steps += wave.clock().step();
}

// Adds the figures that nodes hold when a wave has ended.
void AddNodes(const Network& network, const HRelationWave& wave, std::vector<uint64_t>& passed,
              HRelationResult& result) {
  for (int level = 0; level <= network.stages(); ++level) {
    for (Row row = 0; row < network.rows(); ++row) {
      const HRelationRule::Node& node = wave.clock().node(level, row);
      passed[static_cast<size_t>(level) * network.rows() + row] += node.passed;
      for (const HRelationRule::Side& side : node.sides) result.ghosts_left += side.ghosts;
    }
  }
}

// Checks that messages have arrived at their destinations, and counts them.
absl::Status AddDelivered(const Relation& relation, const HRelationRule& rule,
                          const HRelationConfig& config, HRelationResult& result) {
  // Rows of one splitter of the last level have the same number after this shift.
  const int shift = std::countr_zero(relation.rows()) - rule.levels().last;
  for (uint32_t m = 0; m < relation.destinations.size(); ++m) {
    const Row row = rule.buffers().arrived_at(m);
    if (row == MessageChain::kNone) continue;
    if (row >> shift != relation.destinations[m] >> shift) {
      return absl::InternalError(absl::StrCat("message ", m, " for row ", relation.destinations[m],
                                              " has arrived at row ", row));
    }
    if (config.ended != nullptr) (*config.ended)[m] = row;
    const int crossed = rule.buffers().crossed(m);
    result.shortest_path =
        result.delivered == 0 ? crossed : std::min(result.shortest_path, crossed);
    result.longest_path = std::max(result.longest_path, crossed);
    ++result.delivered;
  }
  return absl::OkStatus();
}

absl::Status CheckInvariants(const HRelationResult& result, const HRelationConfig& config) {
  if (config.stuck == StuckClass::kForce && result.stuck_classes > 0) return absl::OkStatus();
  if (result.above_bound > 0 || result.largest_weight > result.h_bar) {
    return absl::InternalError(absl::StrCat("W is ", result.largest_weight, ", h-bar is ",
                                            result.h_bar, ", and ", result.above_bound,
                                            " nodes have W above the bound of their level"));
  }
  if (result.congestion > 2 * result.h_bar || result.homeless > 0 || result.deficits > 0) {
    return absl::InternalError(absl::StrCat(
        result.congestion, " messages went through one node, 2 h-bar is ", 2 * result.h_bar, "; ",
        result.homeless, " messages found no ghost; ", result.deficits, " ghosts were missing"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckHRelation(const Network& network, const HRelationConfig& config) {
  if (network.kind() != NetworkKind::kMultibutterfly) {
    return absl::InvalidArgumentError(
        absl::StrCat("network: the h-relation algorithm is defined on a multibutterfly, not on a ",
                     KindName(network.kind())));
  }
  const uint32_t rows = network.rows();
  if (config.h < 1 || config.h > kMaxRelationMessages / rows) {
    return OutOfRange("h", config.h, 1, kMaxRelationMessages / rows);
  }
  const struct {
    absl::string_view field;
    int64_t value;
    int64_t most;
  } fields[] = {{"iterations", config.iterations, kMaxHRelationIterations},
                {"rounds", config.rounds, kMaxHRelationRounds},
                {"message_bits", config.message_bits, kMaxHRelationMessageBits}};
  for (const auto& f : fields) {
    if (f.value >= 1 && f.value <= f.most) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(f.field, ": ", f.value, " is not in 1..", f.most));
  }
  const int last = config.last_level < 0 ? network.dimension() : config.last_level;
  if (config.first_level < 0 || config.first_level >= last || last > network.dimension()) {
    return absl::InvalidArgumentError(absl::StrCat("first_level: columns ", config.first_level,
                                                   " to ", last - 1, " are not columns of 0..",
                                                   network.dimension() - 1));
  }
  const auto neighbours = static_cast<uint64_t>(std::max(config.neighbours, 0));
  if (absl::Status status = CheckPowerOfTwo("neighbours", neighbours, 2, 16); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckPowerOfTwo("share", config.share, 1, rows); !status.ok()) {
    return status;
  }
  const auto nodes = static_cast<uint64_t>(network.stages() + 1) * rows;
  const uint64_t need =
      nodes * HRelationBuffers::BytesOfNode(std::min(config.neighbours, network.multiplicity())) +
      uint64_t{config.h} * rows * HRelationBuffers::kBytesOfMessage;
  if (need > config.max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("h: ", config.h, " messages at each of ", rows, " inputs and ", nodes,
                     " nodes need ", need >> 20, " MiB, more than the ", config.max_bytes >> 20,
                     " MiB allowed; use a smaller h, fewer rows or a smaller R (neighbours)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<HRelationResult> RunHRelation(const Network& network, const Relation& relation,
                                             const HRelationConfig& config, Crew& crew) {
  if (absl::Status status = CheckHRelation(network, config); !status.ok()) return status;
  if (absl::Status status = CheckRelation(relation, network.rows(), config.h); !status.ok()) {
    return status;
  }
  if (config.active_rows_only) {
    if (absl::Status status = CheckActiveRows(relation, config.share); !status.ok()) return status;
  }
  const HRelationLevels levels = LevelsOf(network, config);
  HRelationRule rule(network, relation, levels, config.neighbours, SmallWeight(config));
  const Bounds bounds = BoundsOf(network, config, rule);
  if (bounds.h_bar > kMaxHBar) {
    return absl::InvalidArgumentError(absl::StrCat(
        "neighbours: with R = ", config.neighbours, " and the parallel edges of this network ",
        "h-bar is ", bounds.h_bar, ", more than ", kMaxHBar,
        "; use R > 4, a larger share or parallel_edges: avoid"));
  }
  rule.set_weight_bounds(bounds.of_level);
  rule.set_log(config.log);
  if (config.ended != nullptr) config.ended->assign(relation.destinations.size(), 0);
  HRelationResult result;
  result.rows = network.rows();
  result.degree = network.multiplicity();
  result.h = config.h;
  result.h_bar = bounds.h_bar;
  result.papers_h_bar = bounds.papers;
  std::vector<uint64_t> passed(static_cast<size_t>(network.stages() + 1) * network.rows());
  const uint32_t waves = config.active_rows_only ? 1 : config.share;
  // The worker that leads carries no data while Lead runs without a step of the crew. So the
  // messages are sorted and the clock is made before.
  const std::vector<MessageChain> messages = MessagesOfWaves(relation, rule, waves);
  StepClock<HRelationRule> clock(network, rule, crew);
  bool interrupted = false;
  const auto go_on = [&] {
    interrupted = config.interrupted && config.interrupted();
    return !interrupted;
  };
  crew.Lead([&] {
    for (uint32_t w = 0; w < waves && result.trouble.empty(); ++w) {
      if (messages[w].count == 0) continue;
      if (!go_on()) return;
      if (config.log != nullptr) config.log->set_steps_before(result.steps);
      HRelationWave wave(network, relation, rule, config, w, messages[w], clock, crew);
      while (wave.Stage()) {
        if (!go_on()) return;
      }
      Add(wave, result);
      AddNodes(network, wave, passed, result);
      result.trouble = wave.trouble();
    }
  });
  if (interrupted) return absl::CancelledError("interrupted between two stages");
  if (absl::Status status = AddDelivered(relation, rule, config, result); !status.ok()) {
    return status;
  }
  result.finished = result.delivered == relation.destinations.size();
  result.congestion_in_all = *std::ranges::max_element(passed);
  HRelationCharge charge{network.dimension(), bounds.h_bar,  result.link_congestion,
                         config.iterations,   config.rounds, config.message_bits};
  const auto waves_run = static_cast<uint64_t>(result.waves);
  // Every wave streams its own messages.
  result.bit_time = charge.BitTime(result.stages) + (waves_run - 1) * charge.BitTime(0);
  result.word_time = charge.WordTime(result.stages) + (waves_run - 1) * charge.WordTime(0);
  charge.batch = bounds.batch;
  result.bit_time_bound = charge.BitTime(result.stages) + (waves_run - 1) * charge.BitTime(0);
  result.word_time_bound = charge.WordTime(result.stages) + (waves_run - 1) * charge.WordTime(0);
  result.storage_bits = StorageBits(bounds.h_bar, config.neighbours);
  const auto word = static_cast<uint64_t>(network.dimension());
  result.storage_words =
      (result.storage_bits + word - 1) / word + static_cast<uint64_t>(2 * network.ports());
  if (absl::Status status = CheckInvariants(result, config); !status.ok()) return status;
  return result;
}

}  // namespace bfly::dataplane
