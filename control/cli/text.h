// SPDX-License-Identifier: Apache-2.0
// How values look on the terminal: shared by every verb.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bfly/v1/fabric.pb.h"
#include "bfly/v1/telemetry.pb.h"

namespace bfly::control {

// Four digits at most and a unit: "812", "43.1k", "7.25M".
std::string Count(double value);

// "conservation: injected 12 = delivered 10 + dropped 1 + in flight 1", followed by what is wrong
// if the two sides differ.
std::string ConservationLine(const v1::Conservation& conservation);
// "worker on lcore 1 fell behind by 0.4 us in the mean, 1.2 us at p99, 80 us at most (12 packets)",
// a line for each worker that released packets from links that take time.
std::string LatenessLines(const google::protobuf::RepeatedPtrField<v1::WorkerStatus>& workers);
// Frames that the ports' devices dropped because nobody took them in time: the account of the
// fabric does not know them.
uint64_t Missed(const v1::Counters& counters);
// "ports missed 12 frames before the fabric saw them: a 7, b 5", ports that missed none left out.
std::string MissedLine(const v1::Counters& counters);
bool Balances(const v1::Conservation& conservation);

// Prints a message as JSON with the proto's field names, defaults included, numbers as numbers.
absl::Status PrintJson(const google::protobuf::Message& message);
// The same on one line.
absl::Status PrintJsonLine(const google::protobuf::Message& message);

}  // namespace bfly::control
