// SPDX-License-Identifier: Apache-2.0
// Errors of a topology, described so that its author can correct them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

// One error in a bfly.v1.Topology from any source. The message says what would be right.
struct Violation {
  std::string field;    // "ports[0].rows", empty for the topology as a whole
  std::string value;    // as given; empty if nothing was
  std::string message;  // "12 is not a power of two (allowed: powers of two from 2 to 1048576)"
};

// "network.rows: 12 is not a power of two (...)".
std::string ToString(const Violation& violation);

// A violation and its place in a file.
struct Diagnostic {
  std::string file;
  int line = 0;    // 1-based, 0 if there is none
  int column = 0;  // 1-based, 0 if there is none
  std::string field;
  std::string value;
  std::string message;
};

// "topo.yaml:7: network.rows: 12 is not a power of two (...)".
std::string ToString(const Diagnostic& diagnostic);

// InvalidArgument with the first hundred messages, one a line. OK if there is no error.
absl::Status ToStatus(const std::vector<Diagnostic>& diagnostics);
// The same, naming the fields in the status (control/status/field_errors.h).
absl::Status ToStatus(const std::vector<Violation>& violations);

// Makes input safe to quote in a message: escapes control characters and cuts long text.
std::string Quotable(absl::string_view input);

}  // namespace bfly::control
