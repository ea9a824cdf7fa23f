// SPDX-License-Identifier: Apache-2.0
// What `bfly circuit churn` was asked for, and how it is run.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "bfly/v1/circuits.pb.h"
#include "control/cli/verb.h"
#include "control/protocols/churn.h"

namespace bfly::control {

struct ChurnCommand {
  ChurnOptions churn;
  std::string adversary;  // file of its steps; empty: Poisson
  std::string protocol = "minimum";
  double interval = 1;
  bool lines = false;  // JSON: a message a line, one each interval, instead of one at the end
  bool dry_run = false;
  std::string network;
};

// The steps of a file; of no file, none.
absl::StatusOr<std::vector<ChurnStep>> ReadAdversary(const std::string& path, Row rows);

v1::ChurnReport ToMessage(const ChurnReport& report, double wall_seconds);
void PrintChurnLine(const v1::ChurnReport& report);

// Circuits of a running fabric, over one stream. Interrupted it ends early, and releases what it
// set up in any case.
absl::StatusOr<v1::ChurnReport> RunLiveChurn(ChurnCommand command, const Common& common);

}  // namespace bfly::control
