// SPDX-License-Identifier: Apache-2.0
// What Diebold 2008, "Deterministic routing on the multibutterfly network", promises of waves, and
// what is certain of the expansion that it needs.
//
// There are L = ceil(1 / (2 alpha)) waves. A splitter of m inputs then sees at most ceil(m / (2 L))
// packets of a wave for each of its sides.
#pragma once

#include <cstdint>

#include "topologies/network.h"

namespace bfly::control {

// Theorem 1: a wave on a network of 2^d rows ends after this many phases, if the splitters expand
// by beta > 1: floor(((d - 1) log(1 / omega) + log(ceil(n / L))) / log(1 / delta)) + 1, omega =
// 1 / sqrt(beta). The paper has n / L packets in a wave; the largest of L waves has the ceiling of
// it. THEORY.md 5.3 has the ceiling of the quotient, which is one less where the quotient is a
// whole number: a wave is over once its potential is below omega^(d-1), and there the potential may
// still be equal to it. Infinite if beta is 1 or less.
double WavePhases(int d, uint32_t waves, double beta);
// delta = 2 sqrt(beta) / (beta + 1), of Lemma 3 with that omega.
double WaveDelta(double beta);

// The largest beta that Lemma 1 grants random concentrators of c links an input with alpha =
// 1 / (2 waves); 0 if it grants none above 1.
double GrantedExpansion(int c, uint32_t waves);

// A beta for which it is certain that on this multibutterfly every set of packets of a wave that
// stand at one splitter and want the same side has at least beta neighbours a packet there. One
// packet and two packets are looked at exactly, larger sets in splitters of up to kMaxExactInputs
// inputs too. For others it is what the second singular value certifies. Splitters with one packet
// block no packet and do not count. At least 1; infinite if no splitter gets two packets. 0: a
// splitter has more than kMostCertifiedInputs inputs and gets more than two packets, so nothing was
// computed.
double CertainExpansion(const Network& network, uint32_t waves);
inline constexpr uint32_t kMostCertifiedInputs = 1024;

}  // namespace bfly::control
