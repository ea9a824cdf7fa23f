// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/protocol.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly::control {
namespace {

absl::Status CheckRequests(const Network& network, const std::vector<Request>& requests) {
  // By row: the request that uses it, counted from 1; 0: none.
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

// Returns how many links of a stage have k circuits, for k = 0 up to the most. `counts` are the
// circuits on its links, by row and port.
template <typename Number>
std::vector<uint32_t> LoadOfStage(const Network& network, int stage,
                                  const std::vector<Number>& counts) {
  std::vector<uint32_t> load(*std::max_element(counts.begin(), counts.end()) + size_t{1});
  for (const Number n : counts) ++load[n];
  if (!network.straight_is_free()) return load;
  size_t link = 0;
  for (Row row = 0; row < network.rows(); ++row) {
    for (int port = 0; port < network.ports(); ++port, ++link) {
      if (network.is_free({stage, row, port})) --load[counts[link]];
    }
  }
  while (load.back() == 0) load.pop_back();
  return load;
}

// Computes the congestion, of the network and of each stage, from stage_load.
void FillCongestion(RouteResult& result) {
  for (const std::vector<uint32_t>& load : result.stage_load) {
    result.stage_congestion.push_back(static_cast<uint32_t>(load.size() - 1));
    result.congestion = std::max(result.congestion, result.stage_congestion.back());
  }
}

// Returns the most links on a path; free links do not count. A path of a hypercube crosses one link
// for each bit in which its ends differ (Stamoulis & Tsitsiklis, section 1.1).
int DilationOf(const Network& network, const std::vector<CircuitPath>& paths) {
  if (!network.straight_is_free()) return network.hops();
  int most = 0;
  for (const CircuitPath& path : paths) {
    most = std::max(most, std::popcount(path.input ^ path.output));
  }
  return most;
}

absl::Status CheckThreshold(absl::string_view field, uint32_t value) {
  if (value <= kMaxThreshold) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", value, " is outside 1..",
                                                 kMaxThreshold, " (0: the protocol's own)"));
}

// Fills in the load of stages first..last-1. Loads are counted in bytes, so that the counts of one
// stage stay in the cache; a stage with more than 254 paths on a link is counted again in words.
// kOnePort says that a direction has one port, so that the compiler knows how a tag is laid out.
template <bool kOnePort>
void CountStages(const Network& network, const LinkLoad* standing, int first, int last,
                 RouteResult& result) {
  const TagLayout layout = TagLayout::Of(network.hops(), kOnePort ? 1 : network.multiplicity());
  const size_t ports = kDirections * static_cast<size_t>(layout.multiplicity);
  const size_t links = ports * network.rows();
  const size_t paths = result.paths.size();
  std::vector<uint8_t> small(links);
  std::vector<uint32_t> large;
  std::vector<Row> rows(paths);
  std::vector<Tag> tags(paths);
  for (size_t i = 0; i < paths; ++i) {
    tags[i] = result.paths[i].tag;
    rows[i] = result.paths[i].input;
  }
  // These are copies, which writing the counts cannot change.
  const auto link_of = [layout, ports, row = rows.data(), tag = tags.data()](size_t i, int stage) {
    return ports * row[i] + static_cast<size_t>(layout.port(tag[i], stage));
  };
  const auto cross = [&network, link_of, layout, paths, row = rows.data(),
                      tag = tags.data()](int stage) {
    const StageWiring& wiring = network.wiring(stage);
    if (!wiring.table.empty()) {
      for (size_t i = 0; i < paths; ++i) row[i] = wiring.table[link_of(i, stage)];
      return;
    }
    const Row mask = wiring.mask;
    const int direction = layout.field_bits * (layout.hops - stage) - 1;  // the bit that says it
    for (size_t i = 0; i < paths; ++i) {
      row[i] = (row[i] & ~mask) | (mask & (0u - static_cast<Row>(tag[i] >> direction & 1)));
    }
  };
  for (int stage = 0; stage < first; ++stage) cross(stage);
  for (int stage = first; stage < last; ++stage) {
    uint32_t most = 255;
    if (standing == nullptr) {
      std::fill(small.begin(), small.end(), uint8_t{0});
      for (size_t i = 0; i < paths; ++i) {
        uint8_t& n = small[link_of(i, stage)];
        n = static_cast<uint8_t>(n + (n != 255));
      }
      most = *std::max_element(small.begin(), small.end());
    }
    if (most == 255) {
      large = standing != nullptr ? standing->stage_counts(stage) : std::vector<uint32_t>(links);
      for (size_t i = 0; i < paths; ++i) ++large[link_of(i, stage)];
      result.stage_load[stage] = LoadOfStage(network, stage, large);
    } else {
      result.stage_load[stage] = LoadOfStage(network, stage, small);
    }
    cross(stage);
  }
}

// The names of the protocols whose `has` is true, with "or" between them.
std::string NamesOf(bool Protocol::*has) {
  std::vector<absl::string_view> names;
  for (const Protocol* protocol : AllProtocols()) {
    if (protocol->*has) names.push_back(protocol->name);
  }
  return absl::StrJoin(names, " or ");
}

// `value` is 0 where the option is not given.
absl::Status CheckTaken(absl::string_view option, uint32_t value, const Protocol& protocol,
                        bool Protocol::*takes) {
  if (value == 0 || protocol.*takes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, ": protocol ", protocol.name,
                                                 " does not take it, ", NamesOf(takes), " does"));
}

absl::StatusOr<RouteResult> Route(absl::string_view protocol, const Network& network,
                                  const LinkLoad* standing, const std::vector<Request>& requests,
                                  const ProtocolOptions& options) {
  if (absl::Status s = CheckRouting(protocol, network, requests, options); !s.ok()) return s;
  const absl::StatusOr<const Protocol*> found = FindProtocol(protocol, network.kind());
  absl::StatusOr<RouteResult> routed = (*found)->route(network, standing, requests, options);
  if (!routed.ok()) return routed;
  for (const uint32_t i : routed->requests_left) routed->inputs_left.push_back(requests[i].input);
  return routed;
}

}  // namespace

bool ProtocolOptions::MayCross(const LinkLoad& load, LinkId link) const {
  const Network& network = load.network();
  const uint64_t index = network.link_index(link);
  if (faults != nullptr && faults->blocks(index)) return false;
  if (capacity == nullptr) return true;
  const uint32_t most = capacity->at(index);
  return most == LinkCapacity::kUnlimited || load.on(link) < most || network.is_free(link);
}

absl::Status CheckRouting(absl::string_view protocol, const Network& network,
                          const std::vector<Request>& requests, const ProtocolOptions& options) {
  const absl::StatusOr<const Protocol*> found = FindProtocol(protocol, network.kind());
  if (!found.ok()) return found.status();
  if (absl::Status s = CheckOptions(**found, options); !s.ok()) return s;
  return CheckRequests(network, requests);
}

absl::Status CheckOptions(const Protocol& protocol, const ProtocolOptions& options) {
  if (absl::Status s = CheckThreshold("c", options.c); !s.ok()) return s;
  if (absl::Status s = CheckThreshold("q", options.q); !s.ok()) return s;
  if (absl::Status s = CheckWorkers(options.workers); !s.ok()) return s;
  for (const auto& [option, value, takes] : {std::tuple{"c", options.c, &Protocol::takes_c},
                                             {"max_rounds", options.max_rounds, &Protocol::takes_c},
                                             {"q", options.q, &Protocol::takes_q}}) {
    if (absl::Status s = CheckTaken(option, value, protocol, takes); !s.ok()) return s;
  }
  if (protocol.uses_workers || options.workers <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("workers: ", protocol.name, " runs on one thread, not on ", options.workers,
                   "; several can share the work of ", NamesOf(&Protocol::uses_workers)));
}

absl::Status CheckWorkers(uint32_t workers) {
  if (workers <= kMaxWorkers) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("workers: ", workers, " is outside 1..", kMaxWorkers, " (0: 1)"));
}

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
    case PathChoice::kRandom:
      return "random";
    case PathChoice::kLooping:
      return "looping";
    case PathChoice::kLeastLoaded:
      return "least_loaded";
    case PathChoice::kCandidate:
      return "candidate";
    case PathChoice::kDisjoint:
      return "disjoint";
    case PathChoice::kArbitrary:
      return "arbitrary";
  }
  return "";
}

absl::StatusOr<RouteResult> RoutePermutation(absl::string_view protocol, const LinkLoad& standing,
                                             const std::vector<Request>& requests,
                                             const ProtocolOptions& options) {
  const LinkLoad* load = standing.paths() == 0 ? nullptr : &standing;
  return Route(protocol, standing.network(), load, requests, options);
}

absl::StatusOr<RouteResult> RoutePermutation(absl::string_view protocol, const Network& network,
                                             const Permutation& permutation,
                                             const ProtocolOptions& options) {
  if (absl::Status s = CheckPermutation(permutation, network.rows()); !s.ok()) return s;
  std::vector<Request> requests(network.rows());
  for (Row input = 0; input < network.rows(); ++input)
    requests[input] = {input, permutation[input]};
  return Route(protocol, network, nullptr, requests, options);
}

RouteResult RouteOneByOne(const PathChooser& chooser, const Network& network,
                          const LinkLoad* standing, const std::vector<Request>& requests) {
  RouteResult result;
  result.paths.reserve(requests.size());
  LinkLoad load = standing == nullptr ? LinkLoad(network) : *standing;
  for (const Request& request : requests) {
    const CircuitPath path = chooser.Choose(load, request.input, request.output);
    load.Add(path.input, path.tag);
    result.paths.push_back(path);
  }
  for (int stage = 0; stage < network.stages(); ++stage) {
    result.stage_load.push_back(LoadOfStage(network, stage, load.stage_counts(stage)));
  }
  FillCongestion(result);
  result.dilation = DilationOf(network, result.paths);
  return result;
}

RouteResult RouteUnasked(const PathChooser& chooser, const Network& network,
                         const LinkLoad* standing, const std::vector<Request>& requests) {
  RouteResult result;
  if (network.hops() > network.stages()) {
    result = RouteOneByOne(chooser, network, standing, requests);
  } else {
    const LinkLoad unread(network);
    result.paths.reserve(requests.size());
    for (const auto& [input, output] : requests) {
      result.paths.push_back(chooser.Choose(unread, input, output));
    }
    MeasureCongestion(network, standing, result);
  }
  result.rounds = 1;
  result.messages = requests.size();
  return result;
}

void MeasureCongestion(const Network& network, const LinkLoad* standing, RouteResult& result) {
  Crew alone(1);
  MeasureCongestion(network, standing, alone, result);
}

void MeasureCongestion(const Network& network, const LinkLoad* standing, Crew& crew,
                       RouteResult& result) {
  const auto hops = static_cast<size_t>(network.hops());
  result.stage_load.resize(hops);
  const size_t share = (hops + crew.workers() - 1) / crew.workers();
  crew.ForEachPart(hops, share, [&](int, size_t first, size_t last) {
    const auto count = network.multiplicity() == 1 ? CountStages<true> : CountStages<false>;
    count(network, standing, static_cast<int>(first), static_cast<int>(last), result);
  });
  FillCongestion(result);
  result.dilation = DilationOf(network, result.paths);
}

}  // namespace bfly::control
