// SPDX-License-Identifier: Apache-2.0
// Butterflies with extra stages (dataplane/steps/extra_stages.h) under bfly measure.
#pragma once

#include "control/measure/steps/step_program.h"

namespace bfly::control {

// Figures of a trial, t permutations over n + r stages:
//   mean_latency, max_latency      steps from the start until a packet is delivered
//   congestion, node_congestion    the most packets over a link, and at a node
//   packets, hops                  all packets, and the links that they crossed
//   finished_first, finished_last  the steps in which the first permutation and all are finished
//   finished_over                  the most, over f, of finished(f) / (f + log N); finished(f) is
//                                  the step in which the first f permutations are finished
//   steps_a_permutation            the slope of finished(f) over f, by least squares; t > 1
//   over_no_extra                  mean_latency over what the same permutations take without extra
//                                  stages; r > 0
//   over_best                      mean_latency over what they take with BestExtraStages, rounded;
//                                  at points further on than that by 2 or more, t > 1
StepProgram ExtraStagesProgram();

// The fitted formulas of section 4, as THEORY.md 4.5 repairs them. They mean nothing at t = 1.
double PublishedMeanLatency(double n, double r, double t);
double PublishedMaxLatency(double n, double r, double t);
// The r at which PublishedMeanLatency is least: log2((0.69 + 0.07 n) t ln 2 / 3.20), at least 0.
double BestExtraStages(double n, double t);

}  // namespace bfly::control
