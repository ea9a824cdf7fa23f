// SPDX-License-Identifier: Apache-2.0
// Topology files: bfly.v1.Topology written as YAML. The message's descriptor and its (rule) options
// are the only schema. A wrong file is refused whole, with every error and its line.
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

// What a text says, and everything that is wrong with it, in the order of the lines.
struct TopologyReading {
  v1::Topology topology;  // complete (validate.h) as far as it could be understood
  std::vector<Diagnostic> diagnostics;
  bool ok() const { return diagnostics.empty(); }
  // Whether `network` alone is free of errors: enough to describe it.
  bool network_ok() const;
};

// Never fails as a whole: what cannot be read is a diagnostic. `file_name` is quoted in messages.
TopologyReading ParseTopology(absl::string_view text, const std::string& file_name);

// The same as statuses: InvalidArgument with the text of all diagnostics, one a line.
absl::StatusOr<v1::Topology> ReadTopology(absl::string_view text, const std::string& file_name);

// Errors that somebody else found in the topology of `text` (a controller, a data plane), with the
// lines their fields stand at.
std::vector<Diagnostic> PlaceErrors(absl::string_view text, const std::string& file_name,
                                    const std::vector<Violation>& errors);

// "-" reads standard input. NotFound, PermissionDenied or FailedPrecondition if the file cannot be
// read.
absl::StatusOr<v1::Topology> ReadTopologyFile(const std::string& path);
absl::StatusOr<std::string> ReadTopologyText(const std::string& path);

}  // namespace bfly::control
