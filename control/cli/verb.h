// SPDX-License-Identifier: Apache-2.0
// The command line: every verb is a function, in its own file, that declares itself on the parser.
//
// The parser's declarations are the only list of verbs, options and choices. Help texts, the checks
// of typed values and the completion files of the shells all come from them.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "control/access/tls_flags.h"

namespace bfly::control {

// The options of every verb.
struct Common {
  std::string run_dir;     // where `bfly up` keeps sockets, logs and pid files
  std::string controller;  // gRPC address; empty: the Unix socket in run_dir, own_socket()
  TlsFlags tls;            // for a controller at a TCP address
  bool json = false;
  // The primary role's election id, if the user's own controller holds the role; 0: nobody holds
  // it.
  uint64_t election_id = 0;

  std::string own_socket() const { return "unix:" + run_dir + "/controller.sock"; }
  std::string controller_address() const { return controller.empty() ? own_socket() : controller; }
};

// For verbs that start and stop processes in the run directory. InvalidArgument: the user named a
// controller elsewhere.
absl::Status WorksInRunDir(const Common& common);

// Exit codes of bfly. The parser's refusals are kUsage; everything that was tried and failed is
// kFailed.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// A parsed command line: the verb to run and the common options.
struct Invocation {
  Common common;
  std::function<absl::Status()> action;
  int failed = kExitFailed;  // the exit code if the action fails; an action may set another
};

// The last line of every help.
inline constexpr char kExitCodes[] =
    "Exit codes: 0 done, 1 refused or failed (standard error says why), 2 wrong usage.";

// Declares a verb with the common options. `example` is shown at the end of its help and can be
// typed as it stands. A run directory that is typed counts more than $BFLY_CONTROLLER.
CLI::App* NewVerb(CLI::App& parent, Invocation& invocation, const std::string& name,
                  const std::string& help, const std::string& example);
// A verb that only has other verbs below it, such as `bfly circuit`.
CLI::App* NewGroup(CLI::App& parent, const std::string& name, const std::string& help,
                   const std::string& example);

// Declares --election-id for a verb that changes the fabric. Every call of the verb carries the id.
void TakesElectionId(CLI::App* verb, Invocation& invocation);

// Throws CLI::ValidationError, which means wrong usage, if `option` was given with a protocol that
// does not take it. The message names the protocol, and `taker`, the protocol that does.
void CheckTakes(const CLI::Option* option, const std::string& protocol, const std::string& taker);

void AddDescribe(CLI::App& app, Invocation& invocation);
void AddUp(CLI::App& app, Invocation& invocation);
void AddStatus(CLI::App& app, Invocation& invocation);
void AddCounters(CLI::App& app, Invocation& invocation);
void AddTop(CLI::App& app, Invocation& invocation);
void AddCapture(CLI::App& app, Invocation& invocation);
void AddCircuit(CLI::App& app, Invocation& invocation);
void AddChurn(CLI::App& circuit, Invocation& invocation);
void AddMove(CLI::App& circuit, Invocation& invocation);
void AddPermutation(CLI::App& circuit, Invocation& invocation);
void AddDataServer(CLI::App& app, Invocation& invocation);
void AddTrace(CLI::App& app, Invocation& invocation);
void AddTraffic(CLI::App& app, Invocation& invocation);
void AddLab(CLI::App& app, Invocation& invocation);
void AddLink(CLI::App& app, Invocation& invocation);
void AddNode(CLI::App& app, Invocation& invocation);
void AddPort(CLI::App& app, Invocation& invocation);
void AddRoute(CLI::App& app, Invocation& invocation);
void AddMeasure(CLI::App& app, Invocation& invocation);
void AddPlan(CLI::App& app, Invocation& invocation);
void AddReproduce(CLI::App& app, Invocation& invocation);
void AddDoctor(CLI::App& app, Invocation& invocation);
void AddDown(CLI::App& app, Invocation& invocation);
void AddBench(CLI::App& app, Invocation& invocation);
void AddCompletion(CLI::App& app, Invocation& invocation);
void AddCompletionValues(CLI::App& app, Invocation& invocation);

// Builds the whole parser. `invocation` must outlive it. Whole numbers that are negative, do not
// fit into 64 bits or begin with a 0 are wrong usage; CLI11 alone would silently take another
// number.
std::unique_ptr<CLI::App> BuildParser(Invocation& invocation);

}  // namespace bfly::control
