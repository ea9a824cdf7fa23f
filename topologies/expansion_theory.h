// SPDX-License-Identifier: Apache-2.0
// For which parameters the papers prove that random splitters expand. d is the links of an input to
// a side; (alpha, beta)-expansion: every set of k <= alpha m of a splitter's m inputs has at least
// beta k neighbours on each side.
#pragma once

namespace bfly {

// Pietracaprina 1997, Fact 1: a random splitter has (alpha, beta)-expansion with nonzero
// probability if 2 alpha beta < 1 and d > beta + 1 + (beta + 1 + ln 2 beta) / ln(1 / (2 alpha
// beta)). Returns what alpha must be below; 0: the fact accepts no alpha.
double AlphaOfFact1(int d, double beta);

// Diebold 2008, Lemma 1: an (alpha, beta, m, d)-concentrator exists if
// alpha <= (1 / 2 beta) (4 beta e^(1 + beta))^(-1 / (d - beta - 1)), d > beta + 1. Returns the
// largest such alpha, at most 1 / (2 beta); 0: there is none.
double AlphaOfConcentrators(int d, double beta);

// Pietracaprina 1997, Lemma 1: a splitter with (alpha, beta)-expansion has the (alpha, delta,
// r)-neighbour property with delta = (2 beta - d - r + 1) / (d - r + 1). Returns delta; 0 if the
// lemma gives none above 0.
double DeltaOfNeighbours(int d, double beta, int r);

}  // namespace bfly
