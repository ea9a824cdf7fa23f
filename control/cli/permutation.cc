// SPDX-License-Identifier: Apache-2.0
// bfly circuit permutation: routes a whole permutation by a named protocol, on a running fabric or,
// with --dry-run, in this process.
#include "topologies/permutation.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/traffic.grpc.pb.h"
#include "control/cli/circuit_text.h"
#include "control/cli/client.h"
#include "control/cli/network_file.h"
#include "control/cli/route_text.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/intent/path_planner.h"
#include "control/protocols/protocol.h"
#include "control/server/number_option.h"
#include "control/services/route_message.h"
#include "control/topology_file/ranges.h"
#include "dataplane/traffic/source_config.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

constexpr int kPathsShown = 32;  // paths or rows that text output lists
constexpr uint32_t kPathColumns = 80;

struct PermutationOptions {
  std::string protocol = "minimum";
  std::string permutation = "random";
  std::string rows;  // ranges; empty: all
  ProtocolOptions protocol_options;
  bool summary = false;
  bool replace = false;
  double traffic = -1;  // packets a second of each row; below 0: no sources are started
  bool dry_run = false;
  bool in_band = false;
  std::vector<std::string> avoid;
  std::string network;
};

bool IsNamed(const std::string& permutation) {
  const std::vector<std::string> names = PermutationNames();
  return std::find(names.begin(), names.end(), permutation) != names.end();
}

// The requests of the options, in a network of `rows` rows.
absl::StatusOr<std::vector<Request>> RequestsOf(const PermutationOptions& options, uint32_t rows) {
  std::vector<Request> requests;
  if (!options.rows.empty()) {
    if (options.permutation != "random")
      return absl::InvalidArgumentError(
          absl::StrCat("--rows: only a random permutation can permute some of the rows, ",
                       options.permutation, " permutes all"));
    const absl::StatusOr<std::vector<uint32_t>> chosen =
        ExpandRanges(options.rows, rows - 1, "row");
    if (!chosen.ok())
      return absl::InvalidArgumentError(absl::StrCat("--rows: ", chosen.status().message()));
    const std::vector<uint32_t> shuffled = RandomPermutation(
        options.protocol_options.seed, RandomStream::kPermutation, chosen->size());
    for (size_t i = 0; i < chosen->size(); ++i)
      requests.push_back({.input = (*chosen)[i], .output = (*chosen)[shuffled[i]]});
    return requests;
  }
  absl::StatusOr<Permutation> permutation =
      IsNamed(options.permutation)
          ? PermutationByName(options.permutation, rows, options.protocol_options.seed)
          : ReadPermutationFile(options.permutation, rows);
  if (absl::IsNotFound(permutation.status()))
    return absl::NotFoundError(absl::StrCat("--permutation: '", options.permutation,
                                            "' is neither a file nor one of ",
                                            absl::StrJoin(PermutationNames(), ", ")));
  if (!permutation.ok()) return permutation.status();
  for (uint32_t input = 0; input < rows; ++input)
    requests.push_back({.input = input, .output = (*permutation)[input]});
  return requests;
}

absl::StatusOr<v1::RoutePermutationResponse> DryRun(const PermutationOptions& options) {
  const absl::StatusOr<NetworkFile> file = ReadNetwork(options.network);
  if (!file.ok()) return file.status();
  const Network& network = file->network;
  absl::StatusOr<std::vector<Request>> requests = RequestsOf(options, network.rows());
  if (!requests.ok()) return requests.status();
  const auto start = std::chrono::steady_clock::now();
  // What a controller does with a fabric of this file on which nothing stands.
  const Links links = LinksOf(*file);
  const Circuits circuits(network, links.faults(), /*last_id=*/0);
  const Objects objects(network, circuits);
  const PathPlanner planner(network, links, circuits, objects);
  const absl::StatusOr<RouteResult> result = planner.Route({.protocol = options.protocol,
                                                            .requests = *std::move(requests),
                                                            .options = options.protocol_options});
  if (!result.ok()) return result.status();
  v1::RoutePermutationResponse out;
  out.set_seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  FillRoute(network, options.protocol, *result, options.summary, &out);
  return out;
}

absl::StatusOr<v1::RoutePermutationResponse> Route(const PermutationOptions& options,
                                                   const Common& common) {
  auto channel = Connect(common);
  v1::RoutePermutationRequest request;
  request.set_protocol(options.protocol);
  request.set_seed(options.protocol_options.seed);
  request.set_replace(options.replace);
  request.set_dry_run(options.dry_run);
  request.set_in_band(options.in_band);
  request.set_c(options.protocol_options.c);
  request.set_max_rounds(options.protocol_options.max_rounds);
  request.set_q(options.protocol_options.q);
  if (absl::Status avoid = AddLinks(options.avoid, common, request.mutable_avoid()); !avoid.ok()) {
    return avoid;
  }
  // Text output lists the first few paths only.
  request.set_summary(options.summary);
  if (IsNamed(options.permutation) && options.rows.empty()) {
    request.set_permutation(options.permutation);
  } else {
    auto fabric = v1::Fabric::NewStub(channel);
    v1::StatusResponse status;
    if (absl::Status called =
            Call(fabric.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &status, common);
        !called.ok())
      return called;
    if (!status.status().loaded()) return absl::FailedPreconditionError("no fabric is loaded");
    const absl::StatusOr<std::vector<Request>> requests =
        RequestsOf(options, status.status().rows());
    if (!requests.ok()) return requests.status();
    for (const Request& pair : *requests) {
      request.add_inputs(pair.input);
      request.add_outputs(pair.output);
    }
  }
  auto circuits = v1::Circuits::NewStub(channel);
  v1::RoutePermutationResponse response;
  const absl::Status routed =
      Call(circuits.get(), &v1::Circuits::Stub::RoutePermutation, request, &response, common);
  if (!routed.ok()) return routed;
  return response;
}

absl::Status StartSources(const PermutationOptions& options, const Common& common) {
  v1::StartTrafficRequest traffic;
  v1::TrafficSource& source = *traffic.add_sources();
  source.set_destination(v1::TrafficSource::CIRCUIT);
  source.set_packets_per_second(options.traffic);
  source.set_bytes(64);
  source.set_seed(options.protocol_options.seed);
  auto stub = v1::Traffic::NewStub(Connect(common));
  v1::StartTrafficResponse started;
  return Call(stub.get(), &v1::Traffic::Stub::Start, traffic, &started, common);
}

// Says what the requests got for which the protocol found no path.
const char* FateOfLeft(const v1::RoutePermutationResponse& response) {
  if (response.protocol() == "q_limited") return "left without a path";
  if (response.c() == 0) return "took another path, which may share links";
  return "left without a path by the protocol; an arbitrary candidate was taken, the bound c on "
         "the congestion is forfeited";
}

void Print(const v1::RoutePermutationResponse& response, const PermutationOptions& options) {
  printf("%s protocol, %" PRIu64 " circuits%s: congestion %u, dilation %u\n",
         response.protocol().c_str(), response.circuits(),
         options.dry_run ? " (dry run, nothing installed)" : "", response.congestion(),
         response.dilation());
  PrintSetUp(response);
  if (response.has_in_band()) PrintInBand(response.in_band());
  const auto& left = response.requests_left();
  if (!left.empty()) {
    printf(
        "%d request%s %s: inputs %s%s\n", left.size(), left.size() == 1 ? "" : "s",
        FateOfLeft(response),
        absl::StrJoin(left.begin(), left.begin() + std::min(kPathsShown, left.size()), " ").c_str(),
        left.size() > kPathsShown ? " ..." : "");
  }
  for (const std::string& line : DrawStageLoad(response.stage_load(), kPathColumns))
    printf("%s\n", line.c_str());
  // Text output is a screenful; --json lists all.
  for (int i = 0; i < std::min(kPathsShown, response.paths_size()); ++i) {
    const v1::PermutationPath& path = response.paths(i);
    printf("  %3u -> %3u  %-9s rows %s\n", path.input(), path.output(), path.choice().c_str(),
           absl::StrJoin(path.rows(), " ").c_str());
  }
  if (response.paths_size() > kPathsShown)
    printf("  and %d more (--json has them all)\n", response.paths_size() - kPathsShown);
}

absl::Status Run(const PermutationOptions& options, const Common& common) {
  const bool here = options.dry_run && !options.network.empty();
  const absl::StatusOr<v1::RoutePermutationResponse> response =
      here ? DryRun(options) : Route(options, common);
  if (!response.ok()) return response.status();
  const bool sends = options.traffic >= 0;
  const absl::Status sources = sends ? StartSources(options, common) : absl::OkStatus();
  if (common.json) {
    if (absl::Status printed = PrintJson(*response); !printed.ok()) return printed;
  } else {
    Print(*response, options);
  }
  if (!sources.ok()) {
    return absl::Status(sources.code(),
                        absl::StrCat(sources.message(), "\n  the ", response->circuits(),
                                     " circuits stand; no source was started"));
  }
  if (sends && !common.json) printf("sources send over every circuit\n");
  return absl::OkStatus();
}

}  // namespace

void AddPermutation(CLI::App& circuit, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      circuit, invocation, "permutation",
      "Choose paths for a whole permutation by a protocol and set them up as circuits",
      "bfly circuit permutation --permutation random --seed 7 --traffic 1000\n"
      "  bfly circuit permutation --dry-run --network topologies/examples/demo.yaml --json");
  TakesElectionId(verb, invocation);
  auto options = std::make_shared<PermutationOptions>();
  std::vector<std::string> protocols;
  std::string protocols_help = "Protocol that chooses the paths:";
  for (const Protocol* protocol : AllProtocols()) {
    protocols.push_back(protocol->name);
    absl::StrAppend(&protocols_help, " ", protocol->name, " (", protocol->help, ");");
  }
  protocols_help.pop_back();
  verb->add_option("--protocol", options->protocol, protocols_help)
      ->check(CLI::IsMember(protocols))
      ->capture_default_str();
  verb->add_option("--permutation", options->permutation,
                   "By name (" + absl::StrJoin(PermutationNames(), ", ") +
                       "), or a file with one output a line, the first for input 0")
      ->capture_default_str()
      ->type_name("NAME|FILE");
  verb->add_option("--rows", options->rows,
                   "Only these rows, such as 4-15: a random permutation among them")
      ->type_name("RANGES");
  verb->add_option("--seed", options->protocol_options.seed,
                   "Seed of a random permutation and of the protocol")
      ->capture_default_str();
  CLI::Option* c =
      verb->add_option(
              "--c", options->protocol_options.c,
              "collision: paths a link may have in a round [the smallest c with c! > log n]")
          ->check(CLI::Range(1u, kMaxThreshold))
          ->type_name("C");
  CLI::Option* max_rounds =
      verb->add_option("--max-rounds", options->protocol_options.max_rounds,
                       "collision: rounds after which it stops [when a round selects nothing]")
          ->check(CLI::Range(1u, 1u << 20))
          ->type_name("ROUNDS");
  CLI::Option* q =
      verb->add_option("--q", options->protocol_options.q, "q_limited: circuits a link carries [1]")
          ->check(CLI::Range(1u, kMaxThreshold))
          ->type_name("Q");
  verb->add_flag("--summary", options->summary, "Leave the paths out");
  CLI::Option* replace =
      verb->add_flag("--replace", options->replace,
                     "First release the circuits that hold the rows, instead of being refused");
  CLI::Option* traffic =
      verb->add_option("--traffic", options->traffic,
                       "Start sources that send this many packets a second over each circuit; "
                       "0: as fast as the workers allow")
          ->transform(RatePerSecond())
          ->check(NumberFrom(0.0, dataplane::kHighestRate))
          ->type_name("RATE");
  CLI::Option* dry_run =
      verb->add_flag("--dry-run", options->dry_run, "Compute the paths, install nothing")
          ->excludes(traffic);
  verb->add_flag("--in-band", options->in_band,
                 "collision, minimum: the stage workers choose and install the paths themselves")
      ->excludes(dry_run);
  CLI::Option* avoid = verb->add_option("--avoid", options->avoid, kAvoidHelp)->type_name("LINK");
  CLI::Option* network =
      verb->add_option("--network", options->network,
                       "Topology file of the network for a dry run that needs no running fabric")
          ->needs(dry_run)
          ->excludes(avoid)
          ->excludes(replace)
          ->type_name("FILE");
  // A controller computes on one thread, because the stage workers need the other cores of its
  // machine.
  verb->add_option("--workers", options->protocol_options.workers,
                   "collision, benes: threads that compute the paths of a dry run; they are the "
                   "same for any number [1]")
      ->needs(network)
      ->check(CLI::Range(1u, kMaxWorkers))
      ->type_name("W");
  verb->callback([&invocation, options, c, max_rounds, q] {
    CheckTakes(c, options->protocol, "collision");
    CheckTakes(max_rounds, options->protocol, "collision");
    CheckTakes(q, options->protocol, "q_limited");
    invocation.action = [common = invocation.common, options] { return Run(*options, common); };
  });
}

}  // namespace bfly::control
