// SPDX-License-Identifier: Apache-2.0
// Completion files for shells are written from the parser's declarations, so they cannot go stale.
#pragma once

#include <CLI/App.hpp>
#include <array>
#include <string>
#include <vector>

namespace bfly::control {

// Values that only the running fabric or lab knows. The type name of an option says which it takes.
inline constexpr char kCircuitValues[] = "circuits";  // CIRCUIT: ids
inline constexpr char kSourceValues[] = "sources";    // SOURCE: names
inline constexpr char kLinkValues[] = "links";        // SELECTOR: the fullest
inline constexpr char kDownLinkValues[] = "down";     // DOWN-SELECTOR: links that are down
inline constexpr char kPortValues[] = "ports";        // PORT-NAME
inline constexpr char kHostValues[] = "hosts";        // HOST-NAME: of the lab

// Options that say where the fabric runs. What was typed for them is passed on to `bfly values`.
inline constexpr std::array kWhereOptions = {"--run-dir", "--controller", "--tls-ca", "--tls-cert",
                                             "--tls-key"};

struct CompletionOption {
  std::vector<std::string> names;  // "-o", "--long"; none for a positional
  std::string help;
  bool takes_value = false;
  bool many = false;                 // takes any number of values
  bool file = false;                 // the value is a path
  std::string values;                // what `bfly values` is asked for; empty: nothing
  std::vector<std::string> choices;  // the allowed values, if the option has a list of them
};

// One verb, or the program itself, as the completion files describe it to a shell.
struct CompletionVerb {
  std::string path;  // "bfly circuit setup"
  std::string help;
  std::vector<std::string> verbs;  // names of the verbs below it
  std::vector<CompletionOption> options;
};

// Returns every verb of the parser, parents before children.
std::vector<CompletionVerb> CompletionVerbs(const CLI::App& app);

std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);
std::string FishCompletion(const CLI::App& app);

}  // namespace bfly::control
