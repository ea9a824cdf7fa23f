// SPDX-License-Identifier: Apache-2.0
// Brings a fabric up, for `bfly up` and `bfly lab up`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bfly/v1/topology.pb.h"
#include "control/cli/verb.h"

namespace bfly::control {

// A topology and the file it came from.
struct Source {
  std::string file;
  std::string text;
  v1::Topology topology;
  std::vector<int> spread_over;  // CPUs that get the rows because the file has no placement
};

struct UpOptions {
  std::string file;
  bool foreground = false;
  std::vector<std::string> device_dirs;
  bool replace = false;
  bool resume = false;
  std::string state_dir;
  std::string web;  // where the controller serves the web page; empty: nowhere
  // Makes what the devices of the topology need, and may change where the data plane runs. It is
  // called in the locked run directory, before any process is started, and not called if the file
  // is wrong or a fabric runs there.
  std::function<absl::Status(Source&)> prepare = [](Source&) { return absl::OkStatus(); };
  // Called once the fabric is loaded.
  std::function<absl::Status()> loaded = [] { return absl::OkStatus(); };
};

// Declares options of a verb that brings a fabric up: --resume, which is returned, and --state-dir.
CLI::Option* AddResumeOptions(CLI::App& verb, UpOptions& options);
// Declares the option --web.
void AddWebOption(CLI::App& verb, std::string& web);

absl::Status Up(const UpOptions& options, const Common& common);

}  // namespace bfly::control
