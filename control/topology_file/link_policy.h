// SPDX-License-Identifier: Apache-2.0
// The links section of a topology and live changes to it: checks, compilation for a data plane, and
// descriptions for people. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bfly/v1/fabric.pb.h"
#include "bfly/v1/topology.pb.h"
#include "control/topology_file/diagnostic.h"
#include "dataplane/links/link_shape.h"
#include "topologies/network.h"

namespace bfly::control {

using LinkOverrides = google::protobuf::RepeatedPtrField<v1::LinkOverride>;

// An override makes one rule for each pair of a stage range and a row range. There are at most this
// many rules.
inline constexpr size_t kMaxLinkRules = 4096;

// Returns what is wrong with overrides on this network, apart from broken field rules. Fields are
// "PATH[i].rows" and so on.
std::vector<Violation> CheckLinkOverrides(const LinkOverrides& overrides, const Network& network,
                                          const std::string& path);

// The same, and broken field rules too, for live changes. Fields are "changes[i]...".
std::vector<Violation> CheckLinkChanges(const LinkOverrides& changes, const Network& network);
// Checks a selector; fields are "stages", "rows" and "port".
std::vector<Violation> CheckLinkSelector(const v1::LinkOverride& selector, const Network& network);
bool Selects(const v1::LinkOverride& selector, LinkId link);

// The policy followed by the changes. Both must have been checked.
absl::StatusOr<dataplane::LinkPlan> ToLinkPlan(const v1::LinkPolicy& policy,
                                               const LinkOverrides& changes,
                                               const Network& network);

// Appends a change to earlier ones. The settings that it gives are removed from earlier changes
// whose links are all among its own, so that the list does not grow without bound.
void AddLinkChange(const v1::LinkOverride& change, LinkOverrides* changes);

// Reads "s3 r0-15 p1". A part that is left out means all of its kind, and "all" means all links.
// Sets the selecting fields only. InvalidArgument quotes the wrong word, or text without words.
absl::StatusOr<v1::LinkOverride> ParseLinkSelector(absl::string_view text);

// Describes the selected links, with links of equal settings in one group.
absl::StatusOr<std::vector<v1::LinkGroup>> GroupLinks(const dataplane::LinkPlan& plan,
                                                      const Network& network,
                                                      const v1::LinkOverride& selector);

}  // namespace bfly::control
