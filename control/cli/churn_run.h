// SPDX-License-Identifier: Apache-2.0
// The options of `bfly circuit churn`, and the two ways to run it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "bfly/v1/circuits.pb.h"
#include "control/cli/verb.h"
#include "control/protocols/churn.h"

namespace bfly::control {

struct ChurnCommand {
  ChurnOptions churn;
  std::string adversary;  // file of the adversary's steps; empty: Poisson
  std::string protocol;   // empty: minimum, or what the running fabric uses
  double interval = 1;
  bool lines = false;  // JSON: a message on a line at every interval, instead of one at the end
  bool dry_run = false;
  std::string network;
};

// Returns the steps of a file, or none if there is no file.
absl::StatusOr<std::vector<ChurnStep>> ReadAdversary(const std::string& path, Row rows);

v1::ChurnReport ToMessage(const ChurnReport& report, double wall_seconds);
void PrintChurnLine(const v1::ChurnReport& report);

// Sets circuits up and releases them on a running fabric, over one stream. A signal ends it early.
// In any case it releases at the end what it set up.
absl::StatusOr<v1::ChurnReport> RunLiveChurn(ChurnCommand command, const Common& common);

}  // namespace bfly::control
