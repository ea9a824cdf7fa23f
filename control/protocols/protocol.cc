// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/protocol.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

absl::Status CheckRequests(const Network& network, const std::vector<Request>& requests) {
  // Which request uses a row, counted from 1; 0: none.
  std::vector<uint32_t> input_user(network.rows()), output_user(network.rows());
  const auto use = [&](std::vector<uint32_t>& user, size_t i, absl::string_view field,
                       Row row) -> absl::Status {
    if (row >= network.rows()) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, "[", i, "]: ", row, " is outside 0..", network.rows() - 1));
    }
    if (user[row] != 0) {
      return absl::InvalidArgumentError(absl::StrCat(field, "[", i, "]: row ", row,
                                                     " is used twice, first by ", field, "[",
                                                     user[row] - 1, "]"));
    }
    user[row] = static_cast<uint32_t>(i + 1);
    return absl::OkStatus();
  };
  for (size_t i = 0; i < requests.size(); ++i) {
    if (absl::Status s = use(input_user, i, "inputs", requests[i].input); !s.ok()) return s;
    if (absl::Status s = use(output_user, i, "outputs", requests[i].output); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view ChoiceName(PathChoice choice) {
  switch (choice) {
    case PathChoice::kGreedy:
      return "greedy";
    case PathChoice::kP:
      return "p";
    case PathChoice::kPPrime:
      return "p_prime";
    case PathChoice::kGiven:
      return "given";
  }
  return "";
}

absl::StatusOr<RouteResult> RoutePermutation(absl::string_view protocol, const LinkLoad& standing,
                                             const std::vector<Request>& requests,
                                             const ProtocolOptions& options) {
  absl::StatusOr<const Protocol*> found = FindProtocol(protocol, standing.network().kind());
  if (!found.ok()) return found.status();
  if (absl::Status s = CheckRequests(standing.network(), requests); !s.ok()) return s;
  return (*found)->route(standing, requests, options);
}

absl::StatusOr<RouteResult> RoutePermutation(absl::string_view protocol, const Network& network,
                                             const Permutation& permutation,
                                             const ProtocolOptions& options) {
  if (absl::Status s = CheckPermutation(permutation, network.rows()); !s.ok()) return s;
  std::vector<Request> requests;
  for (Row input = 0; input < network.rows(); ++input) {
    requests.push_back({input, permutation[input]});
  }
  return RoutePermutation(protocol, LinkLoad(network), requests, options);
}

RouteResult RouteOneByOne(const PathChooser& chooser, const LinkLoad& standing,
                          const std::vector<Request>& requests) {
  RouteResult result;
  result.paths.reserve(requests.size());
  LinkLoad load = standing;
  for (const Request& request : requests) {
    const CircuitPath path = chooser.Choose(load, request.input, request.output);
    load.Add(path.input, path.tag);
    result.paths.push_back(path);
  }
  result.stage_congestion = load.StageCongestion();
  result.congestion =
      *std::max_element(result.stage_congestion.begin(), result.stage_congestion.end());
  result.dilation = load.network().hops();
  return result;
}

}  // namespace bfly::control
