// SPDX-License-Identifier: Apache-2.0
// Topology files: bfly.v1.Topology written as YAML. The message's descriptor and its (field_rule)
// options are the only schema. A wrong file is refused whole, with every error and its line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bfly/v1/topology.pb.h"
#include "control/topology_file/diagnostic.h"

namespace bfly::control {

inline constexpr size_t kMaxTopologyFileBytes = 1 << 20;

// The content of a text, and all of its errors in the order of the lines.
struct TopologyReading {
  v1::Topology topology;  // complete (validate.h), as far as it was readable
  std::vector<Diagnostic> diagnostics;
  bool ok() const { return diagnostics.empty(); }
  // True if `network` has no errors, which is enough to describe it.
  bool network_ok() const;
};

// Never fails as a whole: every unreadable part is a diagnostic. `file_name` is quoted in messages.
TopologyReading ParseTopology(absl::string_view text, const std::string& file_name);

// The same, with InvalidArgument for any error: the text of all diagnostics, one a line.
absl::StatusOr<v1::Topology> ReadTopology(absl::string_view text, const std::string& file_name);

// Adds lines to errors that a controller or data plane found in the topology of `text`: the lines
// at which their fields stand.
std::vector<Diagnostic> PlaceErrors(absl::string_view text, const std::string& file_name,
                                    const std::vector<Violation>& errors);

// "-" reads standard input. NotFound, PermissionDenied or FailedPrecondition if the file cannot be
// read.
absl::StatusOr<v1::Topology> ReadTopologyFile(const std::string& path);
absl::StatusOr<std::string> ReadTopologyText(const std::string& path);

}  // namespace bfly::control
