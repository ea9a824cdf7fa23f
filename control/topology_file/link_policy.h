// SPDX-License-Identifier: Apache-2.0
// The links of a topology, and changes made to them live: checked, compiled for a data plane, and
// told to people. Pure.
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

// Overrides make one rule for each of their stage ranges and row ranges; this many in all.
inline constexpr size_t kMaxLinkRules = 4096;

// What is wrong with overrides on this network, besides what their rules say; fields are
// "PATH[i].rows" and so on.
std::vector<Violation> CheckLinkOverrides(const LinkOverrides& overrides, const Network& network,
                                          const std::string& path);

// The same with what the rules of the fields say, for changes made live; fields are "changes[i]..".
std::vector<Violation> CheckLinkChanges(const LinkOverrides& changes, const Network& network);
// Of a selector: "stages", "rows" and "port".
std::vector<Violation> CheckLinkSelector(const v1::LinkOverride& selector, const Network& network);
bool Selects(const v1::LinkOverride& selector, LinkId link);

// The policy, and after it the changes. Both must have been checked.
absl::StatusOr<dataplane::LinkPlan> ToLinkPlan(const v1::LinkPolicy& policy,
                                               const LinkOverrides& changes,
                                               const Network& network);

// Adds a change behind others; what it says anew of the same links is taken out of them, so that
// the list does not grow for ever.
void AddLinkChange(const v1::LinkOverride& change, LinkOverrides* changes);

// "s3 r0-15 p1", any part left out for all, "all" or nothing for all links. Only the selecting
// fields are set. InvalidArgument quotes the wrong word.
absl::StatusOr<v1::LinkOverride> ParseLinkSelector(absl::string_view text);

// What the selected links are, links that are alike together.
absl::StatusOr<std::vector<v1::LinkGroup>> GroupLinks(const dataplane::LinkPlan& plan,
                                                      const Network& network,
                                                      const v1::LinkOverride& selector);

}  // namespace bfly::control
