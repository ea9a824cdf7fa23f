// SPDX-License-Identifier: Apache-2.0
// bfly data-server place|request|release|status, on a running fabric.
#include <cinttypes>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/data_server.grpc.pb.h"
#include "control/cli/circuit_text.h"
#include "control/cli/client.h"
#include "control/cli/data_server.h"
#include "control/cli/route_text.h"
#include "control/cli/text.h"

namespace bfly::control {
namespace {

std::string PathText(const v1::ObjectPath& path) {
  return absl::StrCat("user ", path.input(), " reads object ", path.object(), " from disk ",
                      path.output(), ", circuit ", path.circuit(), ", path ", path.choice(),
                      ", rows ", absl::StrJoin(path.rows(), " "));
}

void AddPlace(CLI::App& group, Invocation& invocation) {
  CLI::App* verb = NewVerb(group, invocation, "place", "Put objects on the disks",
                           "bfly data-server place --objects 64 --copies 2 --seed 3\n"
                           "  bfly data-server place --object 7 --disks 3,40");
  TakesElectionId(verb, invocation);
  struct Options {
    uint64_t first = 0, seed = 0, object = 0;
    uint32_t count = 0, copies = 2, room = 0;
    std::vector<uint32_t> disks;
    bool replace = false;
  };
  auto options = std::make_shared<Options>();
  CLI::Option* count =
      verb->add_option("--objects", options->count, "How many objects, on random disks")
          ->check(CLI::Range(1u, 1u << 24))
          ->type_name("COUNT");
  verb->add_option("--first", options->first, "Number of the first object")
      ->needs(count)
      ->capture_default_str();
  verb->add_option("--copies", options->copies,
                   "Copies of each object, one in each half of the disks")
      ->needs(count)
      ->check(CLI::Range(1, 2))
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "Seed of the disks")
      ->needs(count)
      ->capture_default_str();
  CLI::Option* object =
      verb->add_option("--object", options->object, "One object, on the disks given")
          ->excludes(count);
  CLI::Option* disks = verb->add_option("--disks", options->disks, "Its disk, or its two disks")
                           ->delimiter(',')
                           ->expected(1, 2)
                           ->needs(object)
                           ->type_name("D[,D]");
  object->needs(disks);
  verb->add_option("--room", options->room, "Objects a disk may hold; 0: no limit")
      ->capture_default_str();
  verb->add_flag("--replace", options->replace, "First forget all objects that are placed");
  verb->callback([&invocation, options, object] {
    v1::PlaceRequest request;
    if (object->count() > 0) {
      v1::PlacedObject* placed = request.add_objects();
      placed->set_object(options->object);
      placed->mutable_disks()->Add(options->disks.begin(), options->disks.end());
    }
    request.set_first(options->first);
    request.set_count(options->count);
    request.set_seed(options->seed);
    request.set_copies(options->copies);
    request.set_room(options->room);
    request.set_replace(options->replace);
    invocation.action = [common = invocation.common, request]() -> absl::Status {
      auto stub = v1::DataServer::NewStub(Connect(common));
      v1::PlaceResponse response;
      const absl::Status status =
          Call(stub.get(), &v1::DataServer::Stub::Place, request, &response, common);
      if (!status.ok()) return status;
      if (common.json) return PrintJson(response);
      printf("%" PRIu64 " objects are placed, at most %u on a disk\n", response.objects(),
             response.most_on_disk());
      return absl::OkStatus();
    };
  });
}

void AddRequest(CLI::App& group, Invocation& invocation) {
  CLI::App* verb = NewVerb(group, invocation, "request",
                           "Serve one object to one user, from the copy that is less busy",
                           "bfly data-server request 5 17");
  TakesElectionId(verb, invocation);
  struct Options {
    uint32_t user = 0;
    uint64_t object = 0;
    bool in_band = false;
    std::vector<std::string> avoid;
  };
  auto options = std::make_shared<Options>();
  verb->add_option("user", options->user, "Row of the user")->required();
  verb->add_option("object", options->object, "Number of the object")->required();
  CLI::Option* avoid = verb->add_option("--avoid", options->avoid, kAvoidHelp)->type_name("LINK");
  verb->add_flag("--in-band", options->in_band,
                 "The stage workers choose the copy and set the read up themselves")
      ->excludes(avoid);
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options]() -> absl::Status {
      auto stub = v1::DataServer::NewStub(Connect(common));
      v1::ObjectRequest request;
      request.set_user(options->user);
      request.set_object(options->object);
      request.set_in_band(options->in_band);
      absl::Status status = AddLinks(options->avoid, common, request.mutable_avoid());
      if (!status.ok()) return status;
      v1::ObjectResponse response;
      status = Call(stub.get(), &v1::DataServer::Stub::Request, request, &response, common);
      if (!status.ok()) return status;
      if (common.json) return PrintJson(response);
      printf("%s\nlink congestion on the way %u, disk contention %u\n",
             PathText(response.path()).c_str(), response.link_congestion(),
             response.disk_contention());
      if (response.has_in_band()) PrintInBand(response.in_band());
      return absl::OkStatus();
    };
  });
}

absl::Status ReleaseAllObjects(const Common& common) {
  auto stub = v1::DataServer::NewStub(Connect(common));
  v1::ReleaseObjectsRequest request;
  request.set_all(true);
  v1::ReleaseObjectsResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::DataServer::Stub::ReleaseBatch, request, &response, common);
  if (!status.ok()) return status;
  if (common.json) return PrintJson(response);
  printf("%" PRIu64 " reads are released\n", response.released());
  return absl::OkStatus();
}

absl::Status ReleaseOne(const Common& common, const v1::ReleaseObjectRequest& request) {
  auto stub = v1::DataServer::NewStub(Connect(common));
  v1::ReleaseObjectResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::DataServer::Stub::Release, request, &response, common);
  if (!status.ok()) return status;
  if (common.json) return PrintJson(response);
  printf("released: %s\n", PathText(response.path()).c_str());
  if (response.has_in_band()) PrintInBand(response.in_band());
  return absl::OkStatus();
}

void AddReleaseObjects(CLI::App& group, Invocation& invocation) {
  CLI::App* verb = NewVerb(group, invocation, "release", "End the read of one user, or all reads",
                           "bfly data-server release 5\n  bfly data-server release --all");
  TakesElectionId(verb, invocation);
  struct Options {
    uint32_t user = 0;
    bool in_band = false;
    bool all = false;
  };
  auto options = std::make_shared<Options>();
  CLI::Option* user = verb->add_option("user", options->user, "Row of the user");
  CLI::Option* in_band =
      verb->add_flag("--in-band", options->in_band, "The stage workers end the read themselves");
  verb->add_flag("--all", options->all, "Of every user")->excludes(user)->excludes(in_band);
  verb->callback([&invocation, options, user] {
    if (!options->all && user->count() == 0) {
      throw CLI::RequiredError("user, the row of one, or --all");
    }
    v1::ReleaseObjectRequest request;
    request.set_user(options->user);
    request.set_in_band(options->in_band);
    invocation.action = [common = invocation.common, all = options->all, request] {
      return all ? ReleaseAllObjects(common) : ReleaseOne(common, request);
    };
  });
}

void AddServerStatus(CLI::App& group, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(group, invocation, "status", "Objects, reads, and how busy links and disks are",
              "bfly data-server status --reads");
  auto reads = std::make_shared<bool>(false);
  verb->add_flag("--reads", *reads, "List every read that stands");
  verb->callback([&invocation, reads] {
    invocation.action = [common = invocation.common, reads]() -> absl::Status {
      auto stub = v1::DataServer::NewStub(Connect(common));
      v1::DataServerStatusRequest request;
      request.set_reads(*reads);
      v1::DataServerStatus response;
      const absl::Status status =
          Call(stub.get(), &v1::DataServer::Stub::Status, request, &response, common);
      if (!status.ok()) return status;
      if (common.json) return PrintJson(response);
      printf("%" PRIu64 " objects, at most %u on a disk\n%" PRIu64
             " reads: link congestion %u, disk contention %u\n",
             response.objects(), response.most_on_disk(), response.reads(),
             response.link_congestion(), response.disk_contention());
      for (int k = 1; k < response.disks_with_size(); ++k) {
        printf("  %u disk%s with %d reader%s\n", response.disks_with(k),
               response.disks_with(k) == 1 ? "" : "s", k, k == 1 ? "" : "s");
      }
      for (const v1::ObjectPath& path : response.paths()) {
        printf("%s\n", PathText(path).c_str());
      }
      return absl::OkStatus();
    };
  });
}

}  // namespace

void AddObjectVerbs(CLI::App& group, Invocation& invocation) {
  AddPlace(group, invocation);
  AddRequest(group, invocation);
  AddReleaseObjects(group, invocation);
  AddServerStatus(group, invocation);
}

}  // namespace bfly::control
