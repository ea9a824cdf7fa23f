// SPDX-License-Identifier: Apache-2.0
// The command line: every verb is a function that declares itself on the parser. One file a verb.
//
// The parser's declarations are the only list of verbs, options and choices: help texts, the checks
// of what was typed and the completion files of the shells all come from them.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"

namespace bfly::control {

// What every verb understands.
struct Common {
  std::string run_dir;     // where `bfly up` keeps sockets, logs and pid files
  std::string controller;  // gRPC address; empty: the Unix socket in run_dir
  bool json = false;
  // The primary role's, where a controller of one's own holds it; 0: nobody does.
  uint64_t election_id = 0;

  std::string controller_address() const;
};

// A parsed command line: what to do, and with which common options.
struct Invocation {
  Common common;
  std::function<absl::Status()> action;
};

// Exit codes of bfly. kUsage is what the parser refuses, kFailed is everything that was tried and
// failed.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// Declares a verb with the common options. `example` is shown at the end of its help, and is a line
// that can be typed as it stands.
CLI::App* NewVerb(CLI::App& parent, Invocation& invocation, const std::string& name,
                  const std::string& help, const std::string& example);
// A verb that only holds others, such as `bfly circuit`.
CLI::App* NewGroup(CLI::App& parent, const std::string& name, const std::string& help,
                   const std::string& example);

// Declares --election-id, for a verb that changes the fabric: every call of the verb carries it.
void TakesElectionId(CLI::App* verb, Invocation& invocation);

// A wrong use (CLI::ValidationError) of an option that was given with a protocol that has no such
// thing: names both, and who takes it.
void CheckTakes(const CLI::Option* option, const std::string& protocol, const std::string& taker);

void AddDescribe(CLI::App& app, Invocation& invocation);
void AddUp(CLI::App& app, Invocation& invocation);
void AddStatus(CLI::App& app, Invocation& invocation);
void AddCounters(CLI::App& app, Invocation& invocation);
void AddCircuit(CLI::App& app, Invocation& invocation);
void AddChurn(CLI::App& circuit, Invocation& invocation);
void AddMove(CLI::App& circuit, Invocation& invocation);
void AddPermutation(CLI::App& circuit, Invocation& invocation);
void AddDataServer(CLI::App& app, Invocation& invocation);
void AddTraffic(CLI::App& app, Invocation& invocation);
void AddLink(CLI::App& app, Invocation& invocation);
void AddMeasure(CLI::App& app, Invocation& invocation);
void AddDown(CLI::App& app, Invocation& invocation);
void AddBench(CLI::App& app, Invocation& invocation);
void AddCompletion(CLI::App& app, Invocation& invocation);

// The whole parser. `invocation` must outlive it. Whole numbers below 0 or too large for their 64
// bits are wrong usage; the parser by itself would take another number.
std::unique_ptr<CLI::App> BuildParser(Invocation& invocation);

}  // namespace bfly::control
