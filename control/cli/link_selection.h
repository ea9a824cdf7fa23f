// SPDX-License-Identifier: Apache-2.0
// The links of the loaded fabric that a selector names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/circuits.pb.h"
#include "bfly/v1/fabric.pb.h"
#include "bfly/v1/topology.pb.h"
#include "control/cli/verb.h"

namespace bfly::control {

// The error for so many links.
using TooMany = std::function<std::string(uint64_t links)>;
// By stage, row and port. InvalidArgument: a link is outside the fabric, or there are more than
// `most`, which is found before any is made. FailedPrecondition: no fabric is loaded.
absl::StatusOr<std::vector<v1::LinkRef>> LinksOf(const v1::LinkOverride& selector, uint64_t most,
                                                 const TooMany& too_many, const Common& common);

// Those of the links that were taken down by themselves. The controller finds them, so a selector
// of a million links costs nothing. Its errors name the field.
absl::StatusOr<std::vector<v1::LinkRef>> DownLinksOf(const v1::LinkOverride& selector,
                                                     const Common& common);

// Asks for the links of a selector.
v1::GetLinksRequest LinksRequestOf(const v1::LinkOverride& selector);

}  // namespace bfly::control
