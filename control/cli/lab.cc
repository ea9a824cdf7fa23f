// SPDX-License-Identifier: Apache-2.0
// bfly lab up|exec|status|down: the hosts of a topology file and its fabric, made and taken away
// together.
#include "control/lab/lab.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/fabric.pb.h"
#include "control/cli/closing.h"
#include "control/cli/command_words.h"
#include "control/cli/fleet.h"
#include "control/cli/lab_state.h"
#include "control/cli/up.h"
#include "control/cli/verb.h"
#include "control/json/message_json.h"
#include "control/lab/exec.h"
#include "control/lab/journal.h"
#include "control/lab/net_namespace.h"
#include "control/lab/plan.h"
#include "control/topology_file/diagnostic.h"
#include "control/topology_file/reader.h"

namespace bfly::control {
namespace {

// As env(1) and the shells have them.
constexpr int kExitCannotRun = 126;
constexpr int kExitNotFound = 127;

struct LabUpOptions {
  UpOptions up;
  std::string name;
};

absl::StatusOr<LabRecord> ReadLab(const Common& common) {
  absl::StatusOr<LabRecord> record = LabJournal::Read(common.run_dir);
  if (absl::IsNotFound(record.status())) {
    return absl::NotFoundError(absl::StrCat("there is no lab in ", common.run_dir,
                                            " (`bfly lab up FILE` makes one; --run-dir names "
                                            "another directory)"));
  }
  return record;
}

absl::Status HostsStay(const LabRecord& record, const std::string& user) {
  return absl::FailedPreconditionError(absl::StrCat("the hosts of lab ", record.name,
                                                    " stay, because ", user,
                                                    "; `bfly lab down` removes all of it"));
}

// FailedPrecondition: the data plane runs, and the namespace of its ports is not there yet.
absl::Status CheckDataPlane(const LabPlan& plan, const std::string& data_plane,
                            const Common& common) {
  if (plan.fabric.kind != NamespaceRef::Kind::kNamed || NameIsTaken(plan.fabric.name) ||
      !Fleet(common.run_dir).Answers(data_plane)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "data plane ", data_plane, " in ", common.run_dir, " runs already, so it is not in ",
      plan.fabric.text(),
      ", which the lab would make for its ports; name its namespace in the file (data_planes: "
      "[{name: ",
      data_plane, ", network_namespace: ...}]), or end it"));
}

// What became of the hosts. The journal goes once nothing is left. The caller holds the lock of the
// run directory.
absl::Status RemoveAll(const LabRecord& record, const Common& common, bool say,
                       Removal* told = nullptr) {
  const Removal removal = RemoveLab(record);
  if (told != nullptr) *told = removal;
  if (!removal.errors.empty()) {
    return absl::InternalError(absl::StrCat("something of lab ", record.name,
                                            " is still there, try `bfly lab down` again", "\n  ",
                                            absl::StrJoin(removal.errors, "\n  ")));
  }
  const absl::Status removed = LabJournal::Remove(common.run_dir);
  if (removed.ok() && say && !common.json) {
    printf("removed the hosts of lab %s: %d network namespaces, %d pairs of interfaces\n",
           record.name.c_str(), removal.namespaces, removal.links);
  }
  return removed;
}

// The lab of one `bfly lab up`.
class Rising {
 public:
  Rising(LabUpOptions options, Common common)
      : options_(std::move(options)), common_(std::move(common)) {
    options_.up.prepare = [this](Source& source) { return Make(source); };
    options_.up.loaded = [this] { return journal_->Append(UpLine()); };
  }

  absl::Status Run() {
    const absl::Status up = Up(options_.up, common_);
    if (!made_ || (up.ok() && !options_.up.foreground)) return up;
    return Joined(up, Fall(/*say=*/up.ok()));
  }

 private:
  // Takes the hosts away again, after Up() has given the lock back.
  absl::Status Fall(bool say) const {
    const absl::StatusOr<RunDirLock> lock = RunDirLock::Take(common_.run_dir);
    if (!lock.ok()) return lock.status();
    const absl::StatusOr<LabRecord> record = LabJournal::Read(common_.run_dir);
    if (absl::IsNotFound(record.status())) return absl::OkStatus();  // nothing was made
    if (!record.ok()) return record.status();
    if (const std::string user = UserOf(*record, common_); !user.empty()) {
      return HostsStay(*record, user);
    }
    return RemoveAll(*record, common_, say);
  }

  // Removes the journal of a lab that is not there any more. AlreadyExists: there is a lab.
  absl::Status ClearJournal() const {
    const absl::StatusOr<LabRecord> before = LabJournal::Read(common_.run_dir);
    // A `bfly lab up` that was killed at its first line has left a part of it.
    if (absl::IsNotFound(before.status())) return LabJournal::Remove(common_.run_dir);
    if (!before.ok()) return before.status();
    if (IsOfAnotherBoot(*before)) return RemoveAll(*before, common_, /*say=*/false);
    return absl::AlreadyExistsError(
        absl::StrCat("lab ", before->name, " is in ", common_.run_dir,
                     before->up ? " already" : " already, and did not come up whole",
                     "; remove it with `bfly lab down`"));
  }

  absl::Status Make(Source& source) {
    if (absl::Status clear = ClearJournal(); !clear.ok()) return clear;
    const std::string& name = options_.name.empty() ? source.topology.name() : options_.name;
    const absl::StatusOr<LabPlan> plan = PlanLab(source.topology, name);
    if (!plan.ok()) return plan.status();
    const std::vector<Violation> wrong = CheckMachine(*plan);
    if (!wrong.empty()) return ToStatus(PlaceErrors(source.text, source.file, wrong));
    const std::string& data_plane = source.topology.data_planes(0).name();
    if (absl::Status fit = CheckDataPlane(*plan, data_plane, common_); !fit.ok()) return fit;
    made_ = true;
    absl::StatusOr<LabJournal> journal = MakeLab(*plan, common_.run_dir);
    if (!journal.ok()) return journal.status();
    journal_.emplace(*std::move(journal));
    source.topology.mutable_data_planes(0)->set_network_namespace(plan->fabric.name);
    return absl::OkStatus();
  }

  LabUpOptions options_;
  const Common common_;
  bool made_ = false;
  std::optional<LabJournal> journal_;
};

absl::Status Down(const Common& common) {
  if (absl::Status here = WorksInRunDir(common); !here.ok()) return here;
  if (!std::filesystem::exists(common.run_dir)) return ReadLab(common).status();
  const absl::StatusOr<RunDirLock> lock = RunDirLock::Take(common.run_dir);
  if (!lock.ok()) return lock.status();
  const absl::StatusOr<LabRecord> record = ReadLab(common);
  if (absl::IsNotFound(record.status())) {
    // A `bfly lab up` that was killed at its first line may have left a part of that line.
    if (absl::Status removed = LabJournal::Remove(common.run_dir); !removed.ok()) return removed;
  }
  if (!record.ok()) return record.status();
  Fleet fleet(common.run_dir);
  v1::UnloadResponse account;
  absl::Status status;
  if (record->up && FabricRuns(fleet, common)) {
    status = CloseFabric(fleet, common, &account);
  } else {
    status = fleet.Stop(/*keep_logs=*/false).AllEnded();
  }
  Removal removal;
  const std::string user = UserOf(*record, common);
  status = Joined(status, user.empty() ? RemoveAll(*record, common, /*say=*/true, &removal)
                                       : HostsStay(*record, user));
  if (!common.json) return status;
  const nlohmann::ordered_json told = {
      {"account", ToJson(account)}, {"namespaces", removal.namespaces}, {"links", removal.links}};
  printf("%s\n", told.dump(2).c_str());
  return status;
}

absl::StatusOr<LabHost> HostCalled(const std::string& name, const LabRecord& record) {
  std::vector<std::string> names;
  for (const LabHost& host : record.hosts) {
    if (host.name == name) return host;
    names.push_back(host.name);
  }
  return absl::NotFoundError(absl::StrCat("\"", Quotable(name), "\" is not a host of lab ",
                                          record.name, " (allowed: one of ",
                                          absl::StrJoin(names, ", "), ")"));
}

// Becomes the command. Returns only if it cannot.
absl::Status Exec(const std::string& host, const std::vector<std::string>& command,
                  const Common& common, int* exit_code) {
  *exit_code = kExitOwnError;
  const absl::StatusOr<LabRecord> record = ReadLab(common);
  if (!record.ok()) return record.status();
  const absl::StatusOr<LabHost> known = HostCalled(host, *record);
  if (!known.ok()) return known.status();
  const absl::StatusOr<NetNamespace> where = NamespaceOf(*known, *record);
  if (!where.ok()) return where.status();
  const absl::Status status = ExecIn(*where, command);
  if (absl::IsNotFound(status)) *exit_code = kExitNotFound;
  if (absl::IsPermissionDenied(status)) *exit_code = kExitCannotRun;
  return status;
}

nlohmann::ordered_json ToValue(const LabHost& host, const LabRecord& record) {
  return {{"name", host.name},
          {"kind", host.kind},
          {"rows", host.rows},
          {"port", host.port},
          {"namespace", host.has_namespace ? host.where.path() : ""},
          {"interface", host.interface},
          {"addresses", host.addresses},
          {"state", StateOf(host, record)}};
}

absl::Status Status(const Common& common) {
  const absl::StatusOr<LabRecord> record = ReadLab(common);
  if (!record.ok()) return record.status();
  const bool runs = FabricRuns(Fleet(common.run_dir), common);
  if (common.json) {
    nlohmann::ordered_json hosts = nlohmann::ordered_json::array();
    for (const LabHost& host : record->hosts) hosts.push_back(ToValue(host, *record));
    const nlohmann::ordered_json lab = {
        {"name", record->name}, {"whole", record->up}, {"fabric_runs", runs}, {"hosts", hosts}};
    printf("%s\n", lab.dump(2).c_str());
    return LabHealth(*record, common);
  }
  printf("lab %s%s; %s\n", record->name.c_str(),
         record->up ? "" : " did not come up whole, `bfly lab down` removes what is there",
         runs ? "its fabric runs, see `bfly status`" : "no fabric runs");
  for (const LabHost& host : record->hosts) {
    const std::string state = StateOf(host, *record);
    printf("  %-12s rows %-6s %-9s port %s%s%s%s%s\n", host.name.c_str(), host.rows.c_str(),
           host.kind.c_str(), host.port.c_str(),
           host.interface.empty() ? "" : absl::StrCat(", ", host.interface).c_str(),
           host.addresses.empty() ? "" : " ", absl::StrJoin(host.addresses, " ").c_str(),
           state.empty() ? "" : absl::StrCat(", ", state).c_str());
  }
  return LabHealth(*record, common);
}

void AddLabUp(CLI::App& group, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(group, invocation, "up",
              "Make the hosts of a topology file, with their interfaces, addresses and routes, and "
              "bring its fabric up. After an error nothing is left",
              "sudo bfly lab up topologies/examples/demo.yaml");
  auto options = std::make_shared<LabUpOptions>();
  verb->add_option("file", options->up.file, "Topology file (YAML) with hosts; - is standard input")
      ->required()
      ->type_name("FILE");
  verb->add_option("--name", options->name,
                   "Name of the lab: network namespaces are called NAME-HOST, and that of the "
                   "data plane NAME-fabric; left out: the name of the topology")
      ->type_name("NAME");
  verb->add_flag("--foreground", options->up.foreground,
                 "Stay until Ctrl-C or the end of the terminal, then take everything down");
  AddResumeOptions(*verb, options->up);
  AddWebOption(*verb, options->up.web);
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      return Rising(*options, common).Run();
    };
  });
}

void AddLabExec(CLI::App& group, Invocation& invocation) {
  const std::string example = "sudo bfly lab exec h0 -- ping -c 3 10.77.0.2";
  CLI::App* verb = NewVerb(group, invocation, "exec",
                           "Run a command in the network namespace of a host and end with its "
                           "exit code",
                           example);
  verb->footer("Example:\n  " + example +
               "\n\nExit codes: the command's; 125 bfly failed or was called wrongly (standard "
               "error says why), 126 the command cannot be run, 127 there is no such command.");
  verb->remove_option(verb->get_option("--json"));  // the output is the command's
  struct Words {
    std::string host;
    std::vector<std::string> command;
  };
  auto words = std::make_shared<Words>();
  verb->add_option("host", words->host, "Name of the host")->required()->type_name("HOST-NAME");
  verb->add_option("command", words->command, "The command and its arguments, after --")
      ->required()
      ->type_name("CMD");
  verb->callback([&invocation, words] {
    words->host = WithoutMark(words->host);
    for (std::string& word : words->command) word = WithoutMark(word);
    invocation.action = [&invocation, common = invocation.common, words] {
      return Exec(words->host, words->command, common, &invocation.failed);
    };
  });
}

}  // namespace

void AddLab(CLI::App& app, Invocation& invocation) {
  CLI::App* group = NewGroup(app, "lab", "Hosts from the topology file, made with the fabric",
                             "sudo bfly lab up topologies/examples/demo.yaml");
  AddLabUp(*group, invocation);
  AddLabExec(*group, invocation);
  CLI::App* status = NewVerb(*group, invocation, "status",
                             "Show the hosts of the lab, and whether they are as they were made; "
                             "fails if a host is gone or down, the lab did not come up whole, or "
                             "the controller or a data plane does not run",
                             "bfly lab status");
  status->callback([&invocation] {
    invocation.action = [common = invocation.common] { return Status(common); };
  });
  CLI::App* down = NewVerb(*group, invocation, "down",
                           "Stop the fabric and remove what `bfly lab up` made, and nothing else; "
                           "also after `bfly lab up` was killed",
                           "sudo bfly lab down");
  TakesElectionId(down, invocation);
  down->callback(
      [&invocation] { invocation.action = [common = invocation.common] { return Down(common); }; });
}

}  // namespace bfly::control
