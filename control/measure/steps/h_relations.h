// SPDX-License-Identifier: Apache-2.0
// h-relations (dataplane/steps/h_relation.h) under bfly measure.
#pragma once

#include "control/measure/steps/step_program.h"

namespace bfly::control {

// Figures of a trial, an h-relation on one wiring. A trial that does not finish has `left`, `stuck`
// and what bounds and conserves, but no time.
//   time, time_bound         bit steps, with the messages that links carried and with h-bar's
//   word_time                communication steps of words of log n bits
//   time_over_theory         time / (h (X + log n)), all for one wave
//   word_time_over_theory    word_time / (h ceil(X / log n) + log n), for one wave
//   stages, fewest_stages    of a wave: the most and the fewest
//   stages_over_theorem_2    the most, over Theorem 2's with the measured rho
//   rho                      the smallest for which Lemma 2 holds
//   blocked                  sides of nodes without permission after their first stage
//   congestion               messages through one node, in one wave
//   congestion_in_all        through one node, in all waves
//   congestion_over_bound    congestion / (2 h-bar)
//   h_bar, weight, weight_over_h_bar
//   storage, storage_words   bits, and words of log n bits, of one node
//   buffers                  full at one node
//   fewest_links, most_links that a message crossed
//   messages, left           of all waves; messages that did not arrive
//   stuck                    classes of nodes that would ask for ever
//   ghosts, ghosts_lost      made; neither replaced nor deleted nor left
//   without_ghost            messages that found no ghost, and ghosts that were missing
//
// With packs (h_relation_groups.h) each figure above counts packs instead of messages, except in
// the last two rows. Times, stages, links and ghosts are sums over the rounds. Every other figure
// is the largest of a round. stages_over_theorem_2, time_over_theory and word_time_over_theory are
// left out. Additional figures:
//   pack, pack_bits          messages, and bits, of the largest pack
//   most_held                messages at one row between two rounds
StepProgram HRelationProgram();

}  // namespace bfly::control
