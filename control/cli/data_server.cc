// SPDX-License-Identifier: Apache-2.0
// bfly data-server: objects on disks at the outputs of a randomly-wired butterfly, and users who
// read them.
#include "control/protocols/data_server.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/data_server.grpc.pb.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/circuit_text.h"
#include "control/cli/client.h"
#include "control/cli/data_server.h"
#include "control/cli/network_file.h"
#include "control/cli/route_text.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/services/route_message.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

constexpr uint32_t kPictureColumns = 80;
constexpr int kReadsShown = 32;  // paths that text output lists

struct BatchOptions {
  std::string users = "all";
  uint32_t copies = 2;
  std::string protocol = "collision";
  DataServerOptions thresholds;
  uint64_t seed = 0;
  bool summary = false;
  bool dry_run = false;
  bool in_band = false;
  std::vector<std::string> avoid;
  std::string network;
  uint64_t first_object = 0;  // on a running fabric user u wants object first_object + u
};

absl::StatusOr<std::vector<Row>> UsersOf(const BatchOptions& options, uint32_t rows) {
  if (options.users == "all") {
    std::vector<Row> users(rows);
    std::iota(users.begin(), users.end(), 0u);
    return users;
  }
  absl::StatusOr<std::vector<uint32_t>> users = ExpandRanges(options.users, rows - 1, "row");
  if (users.ok()) return users;
  return absl::InvalidArgumentError(
      absl::StrCat("--users: ", users.status().message(), "; or all"));
}

// Routes one batch in which user u asks for object u.
absl::StatusOr<DataServerResult> RouteBatch(const BatchOptions& options, const Network& network,
                                            const std::vector<Row>& users,
                                            const StandingReads& standing) {
  const uint32_t rows = network.rows();
  if (options.copies == 1) {
    const std::vector<Row> placed = PlaceInOneCopy(rows, rows, options.seed);
    std::vector<Row> disks;
    for (const Row user : users) disks.push_back(placed[user]);
    return RouteDataServerSingleCopy(network, users, disks, standing);
  }
  const std::vector<Copies> placed = PlaceInTwoCopies(rows, rows, options.seed);
  std::vector<DataServerRequest> requests;
  for (const Row user : users) requests.push_back({user, placed[user]});
  if (options.protocol == "minimum") return RouteDataServerMinimum(network, requests, standing);
  return RouteDataServerCollision(network, requests, options.thresholds, standing);
}

absl::StatusOr<v1::ObjectBatchResponse> DryRunBatch(const BatchOptions& options) {
  const absl::StatusOr<NetworkFile> file = ReadNetwork(options.network);
  if (!file.ok()) return file.status();
  const absl::StatusOr<std::vector<Row>> users = UsersOf(options, file->network.rows());
  if (!users.ok()) return users.status();
  const auto start = std::chrono::steady_clock::now();
  const Links links = LinksOf(*file);
  const FaultSet& faults = links.faults();
  const absl::StatusOr<DataServerResult> result =
      RouteBatch(options, file->network, *users, {.faults = faults.empty() ? nullptr : &faults});
  if (!result.ok()) return result.status();
  absl::Status fit =
      links.CheckInTurn(result->route.paths, LinkLoad(file->network), faults, "users");
  if (!fit.ok()) return fit;
  v1::ObjectBatchResponse out;
  out.set_seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  out.set_copies(options.copies);
  out.set_protocol(options.copies == 1 ? "single_copy" : options.protocol);
  FillObjectBatch(file->network, *result, {users->begin(), users->end()}, options.summary, &out);
  return out;
}

void Print(const v1::ObjectBatchResponse& response, bool dry_run) {
  printf("%s, objects in %u cop%s, %" PRIu64
         " reads%s: link congestion %u, disk contention %u, "
         "dilation %u\n",
         response.protocol().c_str(), response.copies(), response.copies() == 1 ? "y" : "ies",
         response.circuits(), dry_run ? " (dry run, nothing installed)" : "",
         response.link_congestion(), response.disk_contention(), response.dilation());
  PrintSetUp(response);
  if (response.has_in_band()) PrintInBand(response.in_band());
  if (response.c_disk() != 0) printf("threshold of the disks: %u\n", response.c_disk());
  const auto& left = response.requests_left();
  if (!left.empty()) {
    printf(
        "the protocol left %d request%s, which took an arbitrary copy, so the thresholds may be "
        "exceeded: users %s%s\n",
        left.size(), left.size() == 1 ? "" : "s",
        absl::StrJoin(left.begin(), left.begin() + std::min(kReadsShown, left.size()), " ").c_str(),
        left.size() > kReadsShown ? " ..." : "");
  }
  for (const std::string& line : DrawStageLoad(response.stage_load(), kPictureColumns))
    printf("%s\n", line.c_str());
  for (int i = 0; i < std::min(kReadsShown, response.paths_size()); ++i) {
    const v1::ObjectPath& path = response.paths(i);
    printf("  user %3u reads object %" PRIu64 " from disk %3u  %-9s rows %s\n", path.input(),
           path.object(), path.output(), path.choice().c_str(),
           absl::StrJoin(path.rows(), " ").c_str());
  }
  if (response.paths_size() > kReadsShown)
    printf("  and %d more (--json has them all)\n", response.paths_size() - kReadsShown);
}

// Serves the batch on a running fabric, whose objects were placed before.
absl::StatusOr<v1::ObjectBatchResponse> ServeBatch(const BatchOptions& options,
                                                   const Common& common) {
  auto channel = Connect(common);
  auto fabric = v1::Fabric::NewStub(channel);
  v1::StatusResponse status;
  absl::Status called =
      Call(fabric.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &status, common);
  if (!called.ok()) return called;
  if (!status.status().loaded()) return absl::FailedPreconditionError("no fabric is loaded");
  const absl::StatusOr<std::vector<Row>> users = UsersOf(options, status.status().rows());
  if (!users.ok()) return users.status();
  v1::ObjectBatchRequest request;
  request.mutable_users()->Add(users->begin(), users->end());
  for (const Row user : *users) request.add_objects(options.first_object + user);
  request.set_protocol(options.protocol);
  request.set_c(options.thresholds.c);
  request.set_c_disk(options.thresholds.c_disk);
  request.set_max_rounds(options.thresholds.max_rounds);
  request.set_summary(options.summary);
  request.set_dry_run(options.dry_run);
  request.set_in_band(options.in_band);
  called = AddLinks(options.avoid, common, request.mutable_avoid());
  if (!called.ok()) return called;
  auto stub = v1::DataServer::NewStub(channel);
  v1::ObjectBatchResponse response;
  called = Call(stub.get(), &v1::DataServer::Stub::RequestBatch, request, &response, common);
  if (!called.ok()) return called;
  return response;
}

absl::Status RunBatch(const BatchOptions& options, const Common& common) {
  const bool here = options.dry_run && !options.network.empty();
  const absl::StatusOr<v1::ObjectBatchResponse> response =
      here ? DryRunBatch(options) : ServeBatch(options, common);
  if (!response.ok()) return response.status();
  if (common.json) return PrintJson(*response);
  Print(*response, options.dry_run);
  return absl::OkStatus();
}

void AddBatch(CLI::App& group, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      group, invocation, "batch", "Serve one object to each of many users at once",
      "bfly data-server batch --dry-run --network topologies/examples/data-server-64.yaml --json");
  TakesElectionId(verb, invocation);
  auto options = std::make_shared<BatchOptions>();
  verb->add_option("--users", options->users, "Users that ask; user u asks for object u")
      ->capture_default_str()
      ->type_name("all|RANGES");
  CLI::Option* copies = verb->add_option("--copies", options->copies,
                                         "Dry run: copies of each object, on random disks")
                            ->check(CLI::Range(1, 2))
                            ->capture_default_str();
  CLI::Option* protocol = verb->add_option("--protocol", options->protocol,
                                           "How copies are chosen: collision, in rounds, or "
                                           "minimum, one request after the other")
                              ->check(CLI::IsMember({"collision", "minimum"}))
                              ->capture_default_str();
  CLI::Option* c = verb->add_option("--c", options->thresholds.c,
                                    "collision: paths a link may have in a round "
                                    "[max(c of the disks, the smallest c with c! >= 2 log n)]")
                       ->check(CLI::Range(1u, kMaxThreshold))
                       ->type_name("C");
  CLI::Option* c_disk = verb->add_option("--c-disk", options->thresholds.c_disk,
                                         "collision: paths a disk may have in a round [5]")
                            ->check(CLI::Range(1u, kMaxThreshold))
                            ->type_name("C");
  CLI::Option* max_rounds =
      verb->add_option("--max-rounds", options->thresholds.max_rounds,
                       "collision: rounds after which it stops [when a round selects nothing]")
          ->check(CLI::Range(1u, 1u << 20))
          ->type_name("ROUNDS");
  CLI::Option* seed = verb->add_option("--seed", options->seed, "Dry run: seed of the disks")
                          ->capture_default_str();
  verb->add_flag("--summary", options->summary, "Leave the paths out");
  CLI::Option* first_object =
      verb->add_option("--first-object", options->first_object,
                       "On a running fabric: user u asks for object u plus this number")
          ->capture_default_str();
  CLI::Option* dry_run =
      verb->add_flag("--dry-run", options->dry_run, "Compute the paths, install nothing");
  CLI::Option* network =
      verb->add_option("--network", options->network,
                       "Topology file of the network for a dry run that needs no running fabric")
          ->needs(dry_run)
          ->excludes(first_object)
          ->type_name("FILE");
  CLI::Option* avoid =
      verb->add_option("--avoid", options->avoid, kAvoidHelp)->excludes(network)->type_name("LINK");
  verb->add_flag("--in-band", options->in_band,
                 "The stage workers choose the copies and set the reads up themselves")
      ->excludes(dry_run)
      ->excludes(avoid);
  // On a running fabric `place` has decided the number of copies.
  copies->needs(network);
  seed->needs(network);
  verb->callback([&invocation, options, protocol, c, c_disk, max_rounds] {
    for (const CLI::Option* threshold : {c, c_disk, max_rounds}) {
      CheckTakes(threshold, options->protocol, "collision");
    }
    if (options->copies == 1) {
      for (const CLI::Option* choice : {protocol, c, c_disk, max_rounds}) {
        if (choice->count() == 0) continue;
        throw CLI::ValidationError(choice->get_name(),
                                   "chooses between two copies, not of --copies 1");
      }
    }
    invocation.action = [common = invocation.common, options] {
      return RunBatch(*options, common);
    };
  });
}

}  // namespace

void AddDataServer(CLI::App& app, Invocation& invocation) {
  CLI::App* group = NewGroup(
      app, "data-server", "Objects on the disks behind the outputs, and users who read them",
      "bfly data-server batch --dry-run --network topologies/examples/data-server-64.yaml");
  AddObjectVerbs(*group, invocation);
  AddBatch(*group, invocation);
}

}  // namespace bfly::control
