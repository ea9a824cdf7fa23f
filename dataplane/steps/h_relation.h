// SPDX-License-Identifier: Apache-2.0
// Pietracaprina's deterministic algorithm for h-relations on the multibutterfly (1997, section 3;
// docs/h-relations.md), in exact steps.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/steps/crossing_log.h"
#include "topologies/crew.h"
#include "topologies/network.h"
#include "topologies/relation.h"

namespace bfly::dataplane {

// What happens to a class of nodes (one splitter, side and weight W) if no node of the class got
// permission in an iteration. All following requests would be the same, so the class is stuck for
// ever.
enum class StuckClass {
  kStop,   // the run ends with a report
  kForce,  // its nodes take their first R neighbours without permission, and are counted
};

struct HRelationConfig {
  uint32_t h = 1;              // messages an input sends and an output receives, at most
  int neighbours = 8;          // R: a batch is divided among R neighbours; a power of two, 2..16
  uint32_t share = 32;         // L: one in L outputs is active at a time; a power of two, 1..rows
  int iterations = 4;          // Z: requests in a stage, 1..kMaxHRelationIterations
  int rounds = 3;              // Y: moves in a stage, 1..kMaxHRelationRounds
  uint32_t message_bits = 32;  // X: for the charges of time only, 1..kMaxHRelationMessageBits
  StuckClass stuck = StuckClass::kStop;
  // false: every row may send and receive, and L waves follow each other, wave w with the messages
  // to rows that equal w modulo L. true: only rows 0, L, 2 L, ... send and receive, in one wave.
  bool active_rows_only = false;
  uint64_t max_stages = 0;  // the most stages of one wave; 0: as many as it makes progress in
  uint64_t max_bytes = uint64_t{2} << 30;
  CrossingLog* log = nullptr;  // notes the crossings of the relation's messages; may be null
  // The columns that messages cross are first_level..last_level-1 (-1: up to log N). If they end
  // before log N, a message may end at any row whose first last_level address bits are those of its
  // destination.
  int first_level = 0;
  int last_level = -1;
  // Filled in for each message with the row where it ended; may be null.
  std::vector<Row>* ended = nullptr;
  // The thread that leads the crew calls this before every wave that has messages and between two
  // stages of a wave. If it returns true, the run ends. May be empty.
  std::function<bool()> interrupted = {};
};

inline constexpr uint32_t kMaxHRelationMessageBits = 1u << 20;
inline constexpr int kMaxHRelationIterations = 1024;
inline constexpr int kMaxHRelationRounds = 64;
inline constexpr uint64_t kMaxHBar = uint64_t{1} << 30;

// One class that was stuck.
struct StuckReport {
  uint32_t wave = 0;
  uint64_t stage = 0;
  int level = 0;
  uint32_t splitter = 0;  // the number of the splitter in its level, from the top
  int direction = 0;
  uint64_t weight = 0;  // W
  uint32_t nodes = 0;   // nodes that ask for ever
};

// Figures of a run. With several waves, a time is the sum over the waves and any other figure is
// the largest of a wave, unless its comment says otherwise.
struct HRelationResult {
  // The problem.
  uint32_t rows = 0;  // N
  int degree = 0;     // d
  uint32_t h = 0;
  uint64_t messages = 0;  // messages of all waves
  // How it ended.
  bool finished = false;   // every message is at its output
  std::string trouble;     // empty if the run finished; otherwise the reason why it did not
  uint64_t delivered = 0;  // messages of all waves that arrived, each at the row that it was for
  uint32_t waves = 0;      // waves that had messages
  // Time.
  uint64_t stages = 0;            // the sum over all waves
  uint64_t stages_of_a_wave = 0;  // the figure that Theorem 2 bounds
  uint64_t least_stages_of_a_wave = 0;
  // Bit steps of all waves, computed with the messages that links really carried.
  uint64_t bit_time = 0;
  uint64_t word_time = 0;  // the same in communication steps of words of log N bits
  // As bit_time, but with as many messages per link as W <= h-bar allows.
  uint64_t bit_time_bound = 0;
  // As word_time, with the same number of messages as bit_time_bound.
  uint64_t word_time_bound = 0;
  // Congestion.
  uint64_t congestion = 0;         // messages through one node
  uint64_t congestion_in_all = 0;  // messages through one node, all waves together
  uint64_t link_congestion = 0;    // messages over one link
  uint64_t h_bar = 0;              // Theorem 2: congestion is at most 2 h-bar
  // True: h_bar is the paper's h-bar; false: h_bar comes from WeightBounds.
  bool papers_h_bar = false;
  // Storage of a node.
  uint64_t largest_weight = 0;   // W, at most h-bar
  uint64_t largest_buffers = 0;  // buffers that were full at one node
  uint64_t storage_bits = 0;     // bit model, for 2 h-bar buffers
  uint64_t storage_words = 0;    // word model: these bits packed in words, and one word per link
  // What happened on the way, all waves together.
  uint64_t ghosts_made = 0;
  uint64_t ghosts_replaced = 0;
  uint64_t ghosts_deleted = 0;
  uint64_t ghosts_left = 0;  // counted at the nodes when the waves ended
  uint64_t requests = 0;
  uint64_t blocked = 0;      // sides that had W > h and no permission after their first stage
  uint64_t above_bound = 0;  // sides with W above the bound of their level; forced classes only
  uint64_t homeless = 0;     // messages that found no ghost; forced classes only
  uint64_t deficits = 0;     // ghosts that were missing; forced classes only
  std::vector<StuckReport> stuck;  // the first kMaxStuckReports
  uint64_t stuck_classes = 0;      // stuck classes for which the run stopped, or which it forced
  // Lemma 2 holds for every rho that is at least this large. It is the largest value, over classes
  // and stages k, of (nodes with F = 0 at stage k / nodes with F = 0 at stage i)^(1 / (k - i)). 0:
  // no node waited for a second stage.
  double rho = 0;
  int shortest_path = 0;  // links that a message has crossed
  int longest_path = 0;
  uint64_t steps = 0;  // steps of the step clock
};

inline constexpr size_t kMaxStuckReports = 20;

// Routes the relation. The result is the same for any number of workers. InvalidArgument: the
// network is not a multibutterfly, a field is out of range, or the relation is not an h-relation;
// the message names the field or the row. ResourceExhausted: the run would need more than
// max_bytes; the message says how many. Cancelled: `interrupted`. Internal: an invariant is broken,
// such as W <= h-bar. A run without progress is not an error; see `finished` and `trouble`. It ends
// in the stage in which the first class is stuck, or in the first stage in which no message moves.
absl::StatusOr<HRelationResult> RunHRelation(const Network& network, const Relation& relation,
                                             const HRelationConfig& config, Crew& crew);

// Makes the checks of RunHRelation, except for those of the relation, without running.
absl::Status CheckHRelation(const Network& network, const HRelationConfig& config);

}  // namespace bfly::dataplane
