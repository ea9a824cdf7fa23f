// SPDX-License-Identifier: Apache-2.0
// Reports of small experiments that a test gives as text.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "control/measure/core/journal.h"
#include "control/measure/experiment_file.h"
#include "control/measure/measure.h"
#include "tests/temporary_folder.h"

namespace bfly::control {

// The hypercube of d = 1: two rows, each with one queue.
inline constexpr char kLine[] =
    "name: line\nnetwork: hypercube\nd: 1\np: 0.5\nrho: 0.5\nseeds: 1..10\npackets: 1000\n";

// The experiment in a file with this text.
inline std::unique_ptr<Experiment> Read(const std::string& text,
                                        const std::vector<std::string>& settings) {
  const TemporaryFolder folder;
  const std::string path = folder / "experiment.yaml";
  std::ofstream(path) << text;
  auto experiment = ReadExperiment(path, settings);
  EXPECT_TRUE(experiment.ok()) << experiment.status();
  return *std::move(experiment);
}

// Measures it, and returns the report.
inline Report ReportOf(const std::string& text, const std::vector<std::string>& settings = {}) {
  const std::unique_ptr<Experiment> experiment = Read(text, settings);
  const TemporaryFolder folder;
  auto journal = Journal::Open(folder / "out", WriteExperiment(*experiment));
  EXPECT_TRUE(journal.ok()) << journal.status();
  auto report = Measure(*experiment, *journal, [](const Progress&) { return true; });
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

// The first result of a claim.
inline ClaimResult ResultOf(const Report& report, const std::string& id) {
  for (const ClaimResult& claim : report.claims) {
    if (claim.id == id) return claim;
  }
  ADD_FAILURE() << id << " is not in the report";
  return {};
}

}  // namespace bfly::control
