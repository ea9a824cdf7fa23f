// SPDX-License-Identifier: Apache-2.0
// Link-disjoint paths, so that every link carries one circuit at most, on networks where the output
// decides the directions and a direction has several links (docs/multibutterfly.md). All requests
// get paths over links that carry no circuit and are not down, or the error says why not: that
// there are no such paths, with a cut as the reason where there is one, or that none were found.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/protocols/bottleneck_path.h"
#include "control/protocols/disjoint_cut.h"
#include "control/protocols/disjoint_search.h"
#include "control/protocols/level_matching.h"
#include "control/protocols/protocols.h"
#include "topologies/link_text.h"

namespace bfly::control {
namespace {

// Each part of the search for paths, and of the search for a proof, looks at about as many links.
// That takes a second at most.
constexpr uint64_t kLooksEach = 10'000'000;
constexpr size_t kListed = 8;  // rows or links in a message

std::string ListOf(const std::vector<std::string>& all) {
  const size_t listed = std::min(all.size(), kListed);
  const std::string list = absl::StrJoin(all.begin(), all.begin() + listed, ", ");
  return all.size() > listed ? absl::StrCat(list, " and ", all.size() - listed, " more") : list;
}

std::string ListOf(const std::vector<Row>& rows) {
  std::vector<std::string> all;
  for (const Row row : rows) all.push_back(absl::StrCat(row));
  return ListOf(all);
}

// Why a request alone has no open path. Unavailable: faults are the only reason.
absl::Status NoOpenPath(const OpenLinks& open, const LinkLoad* standing, const FaultSet* faults,
                        Row input, Row output) {
  const Network& network = open.network();
  uint64_t looks = 0;
  const auto levels = open.Reach(input, output, looks);
  const int stage = static_cast<int>(levels.size()) - 1;
  std::vector<std::string> why;
  for (const OpenLinks::Reached& node : levels.back()) {
    const uint64_t first = open.first_link(stage, node.row, open.direction(output, stage));
    for (uint64_t index = first; index < first + network.multiplicity(); ++index) {
      const LinkId link = network.link_at(index);
      if (faults != nullptr && faults->blocks(index)) {
        why.push_back(faults->WhyBlocked(link));
      } else {
        why.push_back(absl::StrCat(LinkText(link), " carries ", standing->on(link),
                                   standing->on(link) == 1 ? " circuit" : " circuits"));
      }
    }
  }
  const bool by_faults = !OpenLinks(network, nullptr, faults).FindPath(input, output, looks);
  return absl::Status(
      by_faults ? absl::StatusCode::kUnavailable : absl::StatusCode::kResourceExhausted,
      absl::StrCat("link: no path of free links leads from ", input, " to ", output, ": stage ",
                   stage, " blocks the last of them; ", ListOf(why)));
}

absl::Status NoDisjointPaths(const OpenLinks& open, const DisjointCut& cut) {
  std::vector<std::string> links;
  for (const uint64_t link : cut.links) links.push_back(LinkText(open.network().link_at(link)));
  std::string message = absl::StrCat("link: no link-disjoint paths exist: the ", cut.inputs.size(),
                                     " circuits of inputs ", ListOf(cut.inputs));
  if (!links.empty()) {
    absl::StrAppend(&message, " can only cross ", links.size(),
                    links.size() == 1 ? " free link (" : " free links (", ListOf(links), ")");
    if (!cut.near_outputs.empty()) {
      absl::StrAppend(&message, ", or end at the outputs ", ListOf(cut.near_outputs),
                      " before these links");
    }
  } else if (!cut.near_outputs.empty()) {
    absl::StrAppend(&message, " can only end at the outputs ", ListOf(cut.near_outputs),
                    ": no free link is left for the others");
  } else {
    absl::StrAppend(&message, ": no free link is left for them");
  }
  return absl::ResourceExhaustedError(message);
}

class DisjointChooser : public PathChooser {
 public:
  explicit DisjointChooser(const FaultSet* faults)
      : faults_(faults), bottleneck_({.faults = faults}) {}

  CircuitPath Choose(const LinkLoad& load, Row input, Row output) const override {
    const auto found = Find(load, input, output);
    if (found.ok()) return *found;
    return {input, output, GreedyTag(load.network(), input, output), PathChoice::kArbitrary};
  }
  absl::StatusOr<CircuitPath> Find(const LinkLoad& load, Row input, Row output) const override {
    CircuitPath path = bottleneck_.Choose(load, input, output);
    path.choice = PathChoice::kDisjoint;
    const bool whole = faults_ == nullptr || faults_->IsWhole(input, path.tag);
    if (whole && load.MaxOnPath(input, path.tag) == 0) return path;
    return NoOpenPath(OpenLinks(load.network(), &load, faults_), &load, faults_, input, output);
  }

 private:
  const FaultSet* const faults_;
  const BottleneckPath bottleneck_;  // finds a path without circuits if there is one
};

std::unique_ptr<PathChooser> MakeDisjoint(const Network&, const ProtocolOptions& options) {
  return std::make_unique<DisjointChooser>(options.faults);
}

absl::StatusOr<LinkPaths> FindPaths(const OpenLinks& open, const LinkLoad* standing,
                                    const FaultSet* faults, const std::vector<Request>& requests) {
  if (auto matched = MatchLevelByLevel(open, requests); matched.has_value()) {
    return *std::move(matched);
  }
  if (auto routed = RouteHardestFirst(open, requests, kLooksEach); routed.has_value()) {
    return *std::move(routed);
  }
  if (const auto cut = FindDisjointCut(open, requests, kLooksEach); cut.has_value()) {
    if (cut->inputs.size() > 1) return NoDisjointPaths(open, *cut);
    const auto alone = std::find_if(requests.begin(), requests.end(), [&](const Request& request) {
      return request.input == cut->inputs[0];
    });
    return NoOpenPath(open, standing, faults, alone->input, alone->output);
  }
  SearchResult search = TryAllWays(open, requests, kLooksEach);
  switch (search.end) {
    case SearchResult::End::kFound:
      return std::move(search.paths);
    case SearchResult::End::kExhausted:
      return absl::ResourceExhaustedError(
          "link: no link-disjoint paths exist: all ways to choose them were tried");
    case SearchResult::End::kStopped:
      break;
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "link: no link-disjoint paths were found, which does not prove that there are none: the "
      "search stopped after looking at ",
      kLooksEach, " links"));
}

// The network is not asked: the paths are computed with global knowledge, and then one packet a
// request reserves its path.
absl::StatusOr<RouteResult> RouteDisjoint(const Network& network, const LinkLoad* standing,
                                          const std::vector<Request>& requests,
                                          const ProtocolOptions& options) {
  const OpenLinks open(network, standing, options.faults);
  const absl::StatusOr<LinkPaths> paths = FindPaths(open, standing, options.faults, requests);
  if (!paths.ok()) return paths.status();
  RouteResult result;
  result.rounds = 1;
  result.messages = requests.size();
  for (size_t i = 0; i < requests.size(); ++i) {
    result.paths.push_back(
        {requests[i].input, requests[i].output, open.TagOf((*paths)[i]), PathChoice::kDisjoint});
  }
  MeasureCongestion(network, standing, result);
  return result;
}

}  // namespace

const Protocol kDisjoint = {
    .name = "disjoint",
    .help =
        "link-disjoint paths over links that carry no circuit, computed off line; where there "
        "are none it says why",
    .defined_on =
        [](NetworkKind kind) {
          return kind == NetworkKind::kDilatedButterfly || kind == NetworkKind::kMultibutterfly;
        },
    .make_chooser = MakeDisjoint,
    .route = RouteDisjoint,
};

}  // namespace bfly::control
