// SPDX-License-Identifier: Apache-2.0
#include "control/cli/verb.h"

#include <cerrno>
#include <cstdlib>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "control/cli/events.h"
#include "control/server/address.h"

namespace bfly::control {
namespace {

constexpr char kVersion[] = "bfly " BFLY_VERSION;

// How CLI11 writes the types of whole numbers, and the names that verbs give such types instead.
// A verb that gives an unsigned option another name must add the name here, or negative numbers
// pass.
constexpr const char* kUnsignedTypes[] = {"BYTES",   "C", "COUNT",  "D[,D]",  "FRAMES", "H",
                                          "K",       "L", "LEVEL",  "N",      "NUMBER", "P,P...",
                                          "PACKETS", "Q", "R",      "R,R...", "ROUNDS", "STAGE",
                                          "STEPS",   "W", "W,W...", "Y",      "Z"};

bool IsUnsigned(const std::string& type) {
  // Checks stand behind a colon, as in "N:INT in [1 - 64]".
  const absl::string_view name = absl::string_view(type).substr(0, type.find(':'));
  return absl::StartsWith(type, "UINT") || absl::c_linear_search(kUnsignedTypes, name);
}

// Returns what is wrong with a number that CLI11 would take for another one, or nothing. The parser
// refuses words that are not numbers.
std::string LeadingZero(const std::string& value) {
  absl::string_view digits = absl::StripLeadingAsciiWhitespace(value);
  if (!absl::ConsumePrefix(&digits, "-")) absl::ConsumePrefix(&digits, "+");
  const bool octal = digits.size() > 1 && digits[0] == '0' && absl::ascii_isdigit(digits[1]);
  return octal ? value + " begins with 0; write it without leading zeros" : "";
}

std::string WrongWholeNumber(const std::string& value) {
  if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(value), "-")) return value + " is below 0";
  if (std::string wrong = LeadingZero(value); !wrong.empty()) return wrong;
  errno = 0;
  std::strtoull(value.c_str(), nullptr, 0);
  return errno == ERANGE ? value + " is larger than any number here, 18446744073709551615" : "";
}

void CheckWholeNumbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (IsUnsigned(type)) option->check(WrongWholeNumber);
    if (absl::StartsWith(type, "INT")) option->check(LeadingZero);
  }
  for (CLI::App* verb : app.get_subcommands({})) CheckWholeNumbers(*verb);
}

}  // namespace

void CheckTakes(const CLI::Option* option, const std::string& protocol, const std::string& taker) {
  if (option->count() == 0 || protocol == taker) return;
  throw CLI::ValidationError(option->get_name(),
                             "protocol " + protocol + " does not take it, " + taker + " does");
}

absl::Status WorksInRunDir(const Common& common) {
  const std::string here = common.own_socket();
  if (common.controller_address() == here) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("this verb works with the processes of the run directory and its controller, ",
                   here, ", but --controller or $BFLY_CONTROLLER names ", common.controller,
                   "; leave it out, or type --run-dir, which counts more than the variable"));
}

CLI::App* NewVerb(CLI::App& parent, Invocation& invocation, const std::string& name,
                  const std::string& help, const std::string& example) {
  CLI::App* verb = parent.add_subcommand(name, help);
  Common& common = invocation.common;
  verb->add_option("--run-dir", common.run_dir,
                   "Directory of sockets, logs and pid files of a running fabric [BFLY_RUN_DIR, "
                   "else /run/bfly]")
      // A typed --run-dir clears BFLY_CONTROLLER. It is read before a typed --controller.
      ->each([&common](const std::string&) { common.controller.clear(); })
      ->type_name("DIR");
  verb->add_option("--controller", common.controller,
                   "Address of bfly-controller, such as 10.0.0.1:7380; "
                   "left out: the Unix socket in the run directory [BFLY_CONTROLLER, unless "
                   "--run-dir is typed]")
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
      ->check(WrongWholeNumber)
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
  // Not by envname(), after which a variable looks like a typed option.
  invocation.common.run_dir = RunDirectory("");
  if (const char* named = std::getenv("BFLY_CONTROLLER")) invocation.common.controller = named;
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
