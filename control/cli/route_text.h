// SPDX-License-Identifier: Apache-2.0
// Text about a protocol's results, for all verbs that route.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "bfly/v1/circuits.pb.h"

namespace bfly::control {

// Writes a line for each stage: its fullest link, and a bar of digits for the share of its links
// that carry 0, 1, 2 ... circuits ('+' from ten on). Every number of circuits that occurs has at
// least one place in the bar. Lines are at most `columns` wide, which must be at least 40.
std::vector<std::string> DrawStageLoad(
    const google::protobuf::RepeatedPtrField<v1::StageLoad>& stages, uint32_t columns);

// "in band: forward 31.2 us, back 40.1 us, ...".
void PrintInBand(const v1::InBandReport& report);

// "set-up: 3 rounds, 1234 messages, 88 steps of the model, 1.2 ms", and how many requests were left
// after each round.
template <typename Response>
void PrintSetUp(const Response& response) {
  printf("set-up: %u round%s, %" PRIu64 " messages, %" PRIu64 " steps of the model, %.3g ms\n",
         response.rounds(), response.rounds() == 1 ? "" : "s", response.messages(),
         response.steps(), response.seconds() * 1e3);
  if (response.c() != 0 && response.left_per_round_size() > 0)
    printf("threshold c = %u; left after each round: %s\n", response.c(),
           absl::StrJoin(response.left_per_round(), " ").c_str());
}

}  // namespace bfly::control
