// SPDX-License-Identifier: Apache-2.0
// bfly down: unloads the fabric and stops its processes.
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/closing.h"
#include "control/cli/kept_text.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/server/operator_id.h"

namespace bfly::control {
namespace {

// Returns what `bfly down` cannot do while no controller runs, or OK if there is nothing to do.
absl::Status WithoutController(const Fleet& fleet, const std::string& run_dir) {
  if (const auto names = fleet.ForeignWithFabric(); !names.empty()) {
    return absl::UnavailableError(absl::StrCat(
        "no controller runs that could unload the fabric of ", absl::StrJoin(names, ", "), " in ",
        run_dir, ", which `bfly up` did not start; start one (`bfly-controller --run-dir ", run_dir,
        "`, or its unit), then run this command again"));
  }
  if (fleet.Running().empty()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "there is no closing account, because no controller runs; what each data plane counted is at "
      "the end of its log in ",
      run_dir, "; `bfly-controller --resume` takes the fabric for one that was not ended"));
}

}  // namespace

absl::Status Joined(const absl::Status& first, const absl::Status& second) {
  if (first.ok() || second.ok()) return first.ok() ? second : first;
  return absl::Status(first.code(), absl::StrCat(first.message(), "\n", second.message()));
}

absl::Status CloseFabric(Fleet& fleet, const Common& common, v1::UnloadResponse* account_out) {
  absl::Status status;
  v1::UnloadResponse account;
  bool accounted = false;
  auto stub = v1::Fabric::NewStub(Connect(common));
  v1::StatusResponse now;
  status = Call(stub.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &now, common);
  // The room of reads may be full; Unload has other room.
  const bool unknown = absl::IsResourceExhausted(status);
  const bool answered = status.ok() || unknown;
  if (unknown || (status.ok() && now.status().loaded())) {
    v1::UnloadRequest request;
    // A user who may stop the processes may also unload the fabric, even while a client holds the
    // primary role.
    if (unknown || now.status().primary_election_id() != 0) {
      request.set_election_id(ReadOperatorId(common.run_dir));
    }
    status = Call(stub.get(), &v1::Fabric::Stub::Unload, request, &account, common);
    accounted = status.ok();
  }
  // A controller that was started by hand has no pid file but answers, and what it answers counts.
  // If there is neither a pid file nor an answer, no controller can unload the fabric.
  if (fleet.pid(kControllerName) == 0 && !answered) {
    status = WithoutController(fleet, common.run_dir);
  }
  const Fleet::Stopped result = fleet.Stop(/*keep_logs=*/!status.ok());
  if (common.json && account_out != nullptr) {
    *account_out = account;
  } else if (common.json) {
    if (absl::Status printed = PrintJson(account); !printed.ok()) return printed;
  } else if (result.stopped.empty() && result.run_on.empty() && !accounted && status.ok()) {
    printf("nothing runs in %s\n", common.run_dir.c_str());
  } else {
    if (accounted) {
      printf("%s\n%s", ConservationLine(account.conservation()).c_str(),
             LatenessLines(account.workers()).c_str());
    }
    if (!result.stopped.empty()) {
      printf("stopped %s\n", absl::StrJoin(result.stopped, ", ").c_str());
    }
    if (account.has_kept()) {
      printf("kept %s; `bfly up FILE --resume` restores the fabric\n",
             KeptText(account.kept()).c_str());
    }
  }
  if (absl::Status ended = result.AllEnded(); !ended.ok()) return ended;
  if (!result.killed.empty())
    return absl::InternalError(absl::StrCat(absl::StrJoin(result.killed, ", "),
                                            " did not end when asked and had to be killed"));
  if (status.ok() && accounted && !Balances(account.conservation()))
    return absl::InternalError("the closing account does not balance");
  if (status.ok() && !account.keeping_problem().empty())
    return absl::DataLossError(absl::StrCat("the intent is not kept: ", account.keeping_problem()));
  if (status.ok() && account.unknown_size() > 0)
    return absl::DataLossError(absl::StrCat("the closing account is not complete\n  ",
                                            absl::StrJoin(account.unknown(), "\n  ")));
  return status;
}

void AddDown(CLI::App& app, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(app, invocation, "down",
              "Unload the fabric and stop the processes that `bfly up` started; print the closing "
              "account. Does nothing where nothing runs",
              "sudo bfly down");
  TakesElectionId(verb, invocation);
  verb->callback([&invocation] {
    invocation.action = [common = invocation.common]() -> absl::Status {
      if (absl::Status here = WorksInRunDir(common); !here.ok()) return here;
      Fleet fleet(common.run_dir);
      // An empty account of another user's fabric must not need a directory that does not exist.
      if (!std::filesystem::exists(common.run_dir)) return CloseFabric(fleet, common);
      absl::StatusOr<RunDirLock> lock = RunDirLock::Take(common.run_dir);
      if (!lock.ok()) return lock.status();
      return CloseFabric(fleet, common);
    };
  });
}

}  // namespace bfly::control
