// SPDX-License-Identifier: Apache-2.0
// How every verb prints values on the terminal.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bfly/v1/fabric.pb.h"
#include "bfly/v1/telemetry.pb.h"
#include "control/top/number_text.h"

namespace bfly::control {

// "conservation: injected 12 = delivered 10 + dropped 1 + in flight 1". If the two sides differ the
// line says what is wrong.
std::string ConservationLine(const v1::Conservation& conservation);
// "worker on lcore 1 fell behind by 0.4 us in the mean, 1.2 us at p99, 80 us at most (12 packets)":
// a line for each worker that released packets from links that take time.
std::string LatenessLines(const google::protobuf::RepeatedPtrField<v1::WorkerStatus>& workers);
// "p0: 2 queue pairs, lcores 0-1; flow rules of the device bring each frame to its worker": the
// lcores that use the queue pairs, and what brings a frame to the worker that needs it. Empty if
// one worker alone receives the frames and needs them.
std::string PortLine(const v1::PortStatus& port);
// What the worker's passes cost: cycles a frame and a hop, empty polls and burst sizes, cycles a
// hop of each stage, and the rings that lead to it. A line each, with an indent of six blanks.
// Empty if the worker polled nothing.
std::string CostLines(const v1::WorkerCost& cost);
// Frames that the devices of ports dropped because no worker took them in time. Ports that were
// removed count too. The fabric's account of packets does not have these frames.
uint64_t Missed(const v1::Counters& counters);
// "ports missed 15 frames before the fabric saw them: a 7, b 5, removed ports of dp0 3". Ports that
// missed none are left out.
std::string MissedLine(const v1::Counters& counters);
bool Balances(const v1::Conservation& conservation);
// "data plane dp0 is unreachable": why the data plane does not do its part of the fabric. Empty: it
// does. `loaded`: whether the controller has a fabric.
std::string PlaneProblem(const v1::DataPlaneStatus& plane, bool loaded);

// Prints a message as JSON with the proto's field names. Defaults are included, and numbers are
// JSON numbers.
absl::Status PrintJson(const google::protobuf::Message& message);
// The same on one line.
absl::Status PrintJsonLine(const google::protobuf::Message& message);
// Writes out what was printed. DATA_LOSS: some of it could not be written.
absl::Status FlushOutput();

}  // namespace bfly::control
