// SPDX-License-Identifier: Apache-2.0
#include "control/intent/given_path.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

absl::StatusOr<CircuitPath> PathByPorts(const Network& network, Row input, Row output,
                                        const std::vector<Row>& rows,
                                        const std::vector<uint32_t>& ports) {
  // A number that does not fit into an int cannot be a port.
  std::vector<int> numbers;
  for (const uint32_t port : ports) {
    numbers.push_back(static_cast<int>(std::min<uint32_t>(port, 1u << 30)));
  }
  const absl::StatusOr<Tag> tag = TagOfPorts(network, numbers);
  if (!tag.ok()) return tag.status();
  const std::vector<Row> walked = WalkTag(network, input, *tag);
  if (!rows.empty() && rows != walked) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "ports",
                        absl::StrCat("lead over rows ", absl::StrJoin(walked, " "),
                                     ", not over the given rows; leave rows out"));
  }
  if (walked.back() != output) {
    return ErrorAtField(
        absl::StatusCode::kInvalidArgument, "ports",
        absl::StrCat("lead to row ", walked.back(), ", which is not the output, ", output));
  }
  return CircuitPath{input, output, *tag, PathChoice::kGiven};
}

}  // namespace

absl::StatusOr<CircuitPath> GivenPath(const Network& network, Row input, Row output,
                                      const std::vector<Row>& rows,
                                      const std::vector<uint32_t>& ports) {
  if (!ports.empty()) return PathByPorts(network, input, output, rows, ports);
  const absl::StatusOr<Tag> tag = TagOfPath(network, rows);
  if (!tag.ok()) return tag.status();
  if (rows.front() != input) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "rows[0]",
                        absl::StrCat(rows.front(), " is not the input, ", input));
  }
  if (rows.back() != output) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument,
                        absl::StrCat("rows[", rows.size() - 1, "]"),
                        absl::StrCat(rows.back(), " is not the output, ", output));
  }
  return CircuitPath{input, output, *tag, PathChoice::kGiven};
}

}  // namespace bfly::control
