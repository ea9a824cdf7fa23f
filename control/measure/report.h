// SPDX-License-Identifier: Apache-2.0
// What a measurement leaves in its folder: results.json, results.csv, claims.txt.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bfly/v1/experiment.pb.h"
#include "control/measure/claim.h"
#include "control/measure/family.h"

namespace bfly::control {

struct Report {
  v1::Experiment experiment;
  bool complete = false;  // every trial was run
  std::vector<Measurement> series;
  std::vector<ClaimResult> claims;
  Family family;

  int Count(Verdict verdict) const;
};

// results.json has nothing that depends on the machine or the time: the same experiment gives the
// same bytes. `measured` says that every trial was run; `complete` is false until the plots are
// drawn too (control/plot/draw_folder.h).
std::string ResultsJson(const Report& report);
std::string ResultsCsv(const Report& report);
// The table of claims a person reads, failures first; with those that do not apply and why, or
// without.
std::string ClaimTable(const Report& report, bool all = true);

// A line for every curve that saturates: its first saturated point with offered and accepted load.
std::string SaturationTable(const Report& report);

// Writes all of them to `folder`.
absl::Status WriteReport(const Report& report, const std::string& folder);

}  // namespace bfly::control
