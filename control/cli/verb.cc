// SPDX-License-Identifier: Apache-2.0
#include "control/cli/verb.h"

#include <cerrno>
#include <cstdlib>

#include "absl/strings/match.h"
#include "control/cli/events.h"

namespace bfly::control {
namespace {

constexpr char kVersion[] = "bfly " BFLY_VERSION;

constexpr char kExitCodes[] =
    "Exit codes: 0 done, 1 refused or failed (standard error says why), 2 wrong usage.";

// Returns what is wrong with a number that is negative or too large, or nothing. The parser refuses
// words that are not numbers.
std::string WrongWholeNumber(const std::string& value) {
  if (absl::StartsWith(value, "-")) return value + " is below 0";
  errno = 0;
  std::strtoull(value.c_str(), nullptr, 0);
  return errno == ERANGE ? value + " is larger than any number here, 18446744073709551615" : "";
}

void CheckWholeNumbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (absl::StartsWith(option->get_type_name(), "UINT")) option->check(WrongWholeNumber);
  }
  for (CLI::App* verb : app.get_subcommands({})) CheckWholeNumbers(*verb);
}

}  // namespace

void CheckTakes(const CLI::Option* option, const std::string& protocol, const std::string& taker) {
  if (option->count() == 0 || protocol == taker) return;
  throw CLI::ValidationError(option->get_name(),
                             "protocol " + protocol + " does not take it, " + taker + " does");
}

std::string Common::controller_address() const {
  return controller.empty() ? "unix:" + run_dir + "/controller.sock" : controller;
}

CLI::App* NewVerb(CLI::App& parent, Invocation& invocation, const std::string& name,
                  const std::string& help, const std::string& example) {
  CLI::App* verb = parent.add_subcommand(name, help);
  Common& common = invocation.common;
  verb->add_option("--run-dir", common.run_dir,
                   "Directory of sockets, logs and pid files of a running fabric")
      ->envname("BFLY_RUN_DIR")
      ->capture_default_str()
      ->type_name("DIR");
  verb->add_option("--controller", common.controller,
                   "Address of bfly-controller, such as 10.0.0.1:7380; "
                   "left out: the Unix socket in the run directory")
      ->envname("BFLY_CONTROLLER")
      ->type_name("ADDRESS");
  const struct {
    const char* flag;
    std::string& path;
    const char* help;
    const char* variable;
  } files[] = {{"--tls-ca", common.tls.ca,
                "Certificates of the authority that signed the controller's, for a TCP address",
                "BFLY_TLS_CA"},
               {"--tls-cert", common.tls.certificate,
                "Certificate by which the controller knows you", "BFLY_TLS_CERT"},
               {"--tls-key", common.tls.key, "Key of your certificate", "BFLY_TLS_KEY"}};
  for (const auto& file : files) {
    verb->add_option(file.flag, file.path, file.help)->envname(file.variable)->type_name("FILE");
  }
  verb->add_flag("--json", common.json, "Print JSON instead of text");
  verb->footer("Example:\n  " + example + "\n\n" + kExitCodes);
  return verb;
}

void TakesElectionId(CLI::App* verb, Invocation& invocation) {
  verb->add_option("--election-id", invocation.common.election_id,
                   "Act in the name of the controller that holds the primary role; `bfly status` "
                   "shows its id")
      ->envname("BFLY_ELECTION_ID")
      ->type_name("ID");
}

CLI::App* NewGroup(CLI::App& parent, const std::string& name, const std::string& help,
                   const std::string& example) {
  CLI::App* group = parent.add_subcommand(name, help);
  group->require_subcommand(1);
  group->footer("Example:\n  " + example + "\n\n" + kExitCodes);
  return group;
}

std::unique_ptr<CLI::App> BuildParser(Invocation& invocation) {
  invocation.common.run_dir = "/run/bfly";
  auto app = std::make_unique<CLI::App>(
      "bfly runs multistage networks (butterflies and their relatives) as switch software", "bfly");
  app->set_version_flag("--version", kVersion);
  app->require_subcommand(1);
  app->get_formatter()->column_width(34);
  app->footer(std::string("Example:\n"
                          "  bfly describe topologies/examples/demo.yaml\n"
                          "  sudo bfly lab up topologies/examples/demo.yaml\n"
                          "  sudo bfly top\n\n"
                          "`bfly VERB --help` says more about each.\n\n") +
              kExitCodes);
  AddDescribe(*app, invocation);
  AddUp(*app, invocation);
  AddStatus(*app, invocation);
  AddCounters(*app, invocation);
  AddTop(*app, invocation);
  AddEvents(*app, invocation);
  AddCircuit(*app, invocation);
  AddCapture(*app, invocation);
  AddTrace(*app, invocation);
  AddDataServer(*app, invocation);
  AddTraffic(*app, invocation);
  AddLink(*app, invocation);
  AddNode(*app, invocation);
  AddPort(*app, invocation);
  AddRoute(*app, invocation);
  AddMeasure(*app, invocation);
  AddReproduce(*app, invocation);
  AddPlan(*app, invocation);
  AddDown(*app, invocation);
  AddDoctor(*app, invocation);
  AddLab(*app, invocation);
  AddBench(*app, invocation);
  AddCompletion(*app, invocation);
  AddCompletionValues(*app, invocation);
  CheckWholeNumbers(*app);
  return app;
}

}  // namespace bfly::control
