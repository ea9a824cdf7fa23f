// SPDX-License-Identifier: Apache-2.0
// Waves (dataplane/steps/waves.h) under bfly measure.
#pragma once

#include "control/measure/steps/step_program.h"

namespace bfly::control {

// Figures of a trial, L waves on one wiring:
//   phases, mean_phases, fewest_phases   of a wave: the most, the mean and the fewest
//   phases_in_all, steps, packets        of all waves
//   moves_per_packet                     links that a delivered packet crossed
//   left                                 packets that did not arrive
//   wrong_parity                         waves whose phases are not d modulo 2
//   paths                                from one input to one output
//   potential, potential_one_phase       the most that is left of the potential after two phases
//                                        and after one, as a part of it; omega = 1 / sqrt(2)
// On a multibutterfly whose wiring surely expands by some beta above 1 also
//   expansion                            that beta (waves_theory.h), kMostExpansion at most
//   most_of_T, most_of_2T, all_of_LT     `phases` over T and 2 T of Theorem 1 with that beta, and
//                                        `phases_in_all` over L T
//   potential_over_delta                 as `potential`, with that beta, over its delta
StepProgram WavesProgram();

// Where no splitter gets two packets every beta is right.
inline constexpr double kMostExpansion = 16;

}  // namespace bfly::control
