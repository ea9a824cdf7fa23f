// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "control/cli/completion.h"
#include "control/cli/typed_number.h"
#include "control/cli/verb.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

// A word as bash cuts it for COMP_WORDS: runs of ':' and '=' are words of their own.
std::vector<std::string> Cut(const std::string& word) {
  std::vector<std::string> parts = {""};
  bool breaks = false;
  for (const char letter : word) {
    const bool is_break = letter == ':' || letter == '=';
    if (is_break != breaks && !parts.back().empty()) parts.emplace_back();
    breaks = is_break;
    parts.back() += letter;
  }
  return parts;
}

// What bash itself offers after `words`, the last of which is still being typed.
std::vector<std::string> OffersBy(const CLI::App& parser, const std::vector<std::string>& words) {
  std::vector<std::string> parts;
  for (const std::string& word : words)
    for (const std::string& part : Cut(word)) parts.push_back(part);
  // bash replaces what stands behind the last break.
  const std::string replaced = words.back().substr(words.back().find_last_of(":=") + 1);
  const std::string line = absl::StrJoin(words, " ");
  const std::string path = testing::TempDir() + "bfly-completion-" + std::to_string(getpid());
  std::ofstream file(path);
  file << "bfly() { printf '%s\\n' $BFLY_TEST_VALUES; printf 'asked-%s\\n' \"$@\"; }\n"
       << BashCompletion(parser) << "\nCOMP_WORDS=(";
  for (const std::string& part : parts) file << "'" << part << "' ";
  file << ")\nCOMP_CWORD=" << parts.size() - 1 << " COMP_LINE='" << line
       << "' COMP_POINT=" << line.size() << "\ncd " << testing::TempDir() << "\n_bfly bfly '"
       << replaced << "'\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  file.close();
  FILE* bash = popen(("bash --norc --noprofile " + path + " 2>&1").c_str(), "r");
  std::string out;
  char buffer[4096];
  while (const size_t got = fread(buffer, 1, sizeof(buffer), bash)) out.append(buffer, got);
  EXPECT_EQ(pclose(bash), 0) << out;
  remove(path.c_str());
  return absl::StrSplit(out, '\n', absl::SkipEmpty());
}

std::vector<std::string> Offers(const std::vector<std::string>& words) {
  Invocation invocation;
  return OffersBy(*BuildParser(invocation), words);
}

TEST(BashCompletion, OffersTheVerbs) {
  EXPECT_THAT(Offers({"bfly", ""}), IsSupersetOf({"describe", "up", "down", "status", "counters",
                                                  "circuit", "traffic", "link", "completion"}));
  EXPECT_THAT(Offers({"bfly", "de"}), ElementsAre("describe"));
}

TEST(BashCompletion, OffersVerbsBelowAVerb) {
  EXPECT_THAT(Offers({"bfly", "circuit", ""}),
              IsSupersetOf({"setup", "release", "list", "permutation"}));
}

TEST(BashCompletion, OffersTheOptionsOfAVerb) {
  EXPECT_THAT(
      Offers({"bfly", "counters", "--"}),
      AllOf(IsSupersetOf({"--watch", "--top", "--nonzero", "--json", "--run-dir", "--help"}),
            Not(Contains("--dry-run"))));
}

TEST(BashCompletion, OffersTheChoicesOfAnOption) {
  EXPECT_THAT(Offers({"bfly", "circuit", "permutation", "--protocol", ""}),
              IsSupersetOf({"minimum", "greedy", "collision", "benes"}));
  EXPECT_THAT(Offers({"bfly", "completion", ""}), IsSupersetOf({"bash", "zsh", "fish"}));
}

TEST(BashCompletion, OffersFilesWhereAFileIsWanted) {
  const std::string name = "offered-" + std::to_string(getpid()) + ".yaml";
  std::ofstream(testing::TempDir() + name) << "name: x\n";
  EXPECT_THAT(Offers({"bfly", "describe", "offered-" + std::to_string(getpid())}),
              ElementsAre(name));
  EXPECT_THAT(Offers({"bfly", "circuit", "permutation", "--network",
                      "offered-" + std::to_string(getpid())}),
              ElementsAre(name));
  EXPECT_THAT(Offers({"bfly", "status", "offered-"}), ElementsAre());
  remove((testing::TempDir() + name).c_str());
}

TEST(BashCompletion, StaysAtTheVerbWhenAnOptionsValueLooksLikeOne) {
  EXPECT_THAT(Offers({"bfly", "status", "--run-dir", "circuit", "--j"}), ElementsAre("--json"));
}

// What bash offers if `bfly values` prints `values` and the words that it was asked with.
std::vector<std::string> OffersOf(const std::string& values,
                                  const std::vector<std::string>& words) {
  setenv("BFLY_TEST_VALUES", values.c_str(), 1);
  std::vector<std::string> offered = Offers(words);
  unsetenv("BFLY_TEST_VALUES");
  return offered;
}

TEST(BashCompletion, OffersValuesOfTheRunningFabric) {
  EXPECT_THAT(OffersOf("7 12", {"bfly", "circuit", "release", ""}),
              IsSupersetOf({"asked-values", "asked-circuits", "7", "12", "--all"}));
  EXPECT_THAT(OffersOf("7 12", {"bfly", "circuit", "move", "--run-dir", "/tmp/lab", "1"}),
              ElementsAre("12"));
  EXPECT_THAT(OffersOf("", {"bfly", "circuit", "move", "--run-dir", "/tmp/lab", "asked-"}),
              ElementsAre("asked-values", "asked-circuits", "asked---begin", "asked-asked-",
                          "asked---run-dir", "asked-/tmp/lab"));
  EXPECT_THAT(OffersOf("hot", {"bfly", "traffic", "stop", ""}),
              IsSupersetOf({"hot", "asked-sources"}));
  EXPECT_THAT(OffersOf("3,5,1", {"bfly", "circuit", "list", "--link", ""}),
              IsSupersetOf({"3,5,1", "asked-links"}));
  EXPECT_THAT(OffersOf("3,5,1", {"bfly", "link", "fail", ""}), Contains("3,5,1"));
  // A verb that takes no such value does not ask, and neither does an option in the making.
  EXPECT_THAT(OffersOf("7", {"bfly", "status", ""}), Not(Contains("asked-values")));
  EXPECT_THAT(OffersOf("7", {"bfly", "circuit", "setup", "--avoid", ""}), ElementsAre());
  EXPECT_THAT(OffersOf("7", {"bfly", "circuit", "release", "--al"}), ElementsAre("--all"));
}

TEST(BashCompletion, PutsValuesBehindTheColonOrEqualSignThatBashCutsAt) {
  EXPECT_THAT(OffersOf("a:1 a:2 b:1", {"bfly", "traffic", "stop", "a:"}), ElementsAre("1", "2"));
  EXPECT_THAT(OffersOf("a:12 a:2 b:1", {"bfly", "traffic", "stop", "a:1"}), ElementsAre("12"));
  EXPECT_THAT(OffersOf("a=:12", {"bfly", "traffic", "stop", "a=:"}), ElementsAre("12"));
  EXPECT_THAT(OffersOf("3,5,1", {"bfly", "circuit", "list", "--link=3"}), ElementsAre("3,5,1"));
  EXPECT_THAT(Offers({"bfly", "circuit", "permutation", "--protocol=gr"}), ElementsAre("greedy"));
  EXPECT_THAT(Offers({"bfly", "circuit", "permutation", "--protocol="}), Contains("greedy"));
  EXPECT_THAT(Offers({"bfly", "status", "--json="}), ElementsAre());
}

TEST(BashCompletion, PassesOnWhereTheFabricRuns) {
  EXPECT_THAT(
      OffersOf("", {"bfly", "link", "fail", "--controller", "10.0.0.1:7380", "--tls-ca", "/ca.pem",
                    "--tls-cert=/c.pem", "--tls-key", "/k.pem", "--election-id", "7", ""}),
      IsSupersetOf({"asked---controller", "asked-10.0.0.1:7380", "asked---tls-ca", "asked-/ca.pem",
                    "asked---tls-cert", "asked-/c.pem", "asked---tls-key", "asked-/k.pem"}));
  EXPECT_THAT(OffersOf("", {"bfly", "link", "fail", "--election-id", "7", ""}),
              Not(Contains("asked---election-id")));
}

TEST(BashCompletion, TakesNoValueOfAnOptionForAVerbOrAnOption) {
  CLI::App parser("", "bfly");
  std::string name;
  CLI::App* group = parser.add_subcommand("group", "");
  group->add_option("--name", name);
  group->add_subcommand("list", "")->add_flag("--long");
  EXPECT_THAT(OffersBy(parser, {"bfly", "group", "list", "--l"}), ElementsAre("--long"));
  for (const std::string value : {"list", "--name", "--"}) {
    EXPECT_THAT(OffersBy(parser, {"bfly", "group", "--name", value, "--n"}), ElementsAre("--name"));
    EXPECT_THAT(OffersBy(parser, {"bfly", "group", "--name", value, "li"}), ElementsAre("list"));
  }
  EXPECT_THAT(OffersBy(parser, {"bfly", "group", "--name=list", "--n"}), ElementsAre("--name"));
}

TEST(BashCompletion, OffersNoOptionBehindTwoDashes) {
  EXPECT_THAT(Offers({"bfly", "lab", "exec", "h0", "--", "--ru"}), ElementsAre());
  EXPECT_THAT(Offers({"bfly", "lab", "exec", "h0", "--ru"}), ElementsAre("--run-dir"));
}

TEST(BashCompletion, OffersLinksThatAreDownWhereLinksAreBroughtBack) {
  EXPECT_THAT(OffersOf("3,5,1", {"bfly", "link", "up", "3"}), ElementsAre("3,5,1"));
  for (const std::string verb : {"up", "restore"})
    EXPECT_THAT(OffersOf("", {"bfly", "link", verb, ""}), Contains("asked-down")) << verb;
  for (const std::string verb : {"down", "fail"})
    EXPECT_THAT(OffersOf("", {"bfly", "link", verb, ""}), Contains("asked-links")) << verb;
}

TEST(BashCompletion, OffersHostsAsTheFirstWordOfLabExec) {
  EXPECT_THAT(OffersOf("h0 h1", {"bfly", "lab", "exec", ""}),
              IsSupersetOf({"h0", "h1", "asked-hosts"}));
  EXPECT_THAT(OffersOf("h0 h1", {"bfly", "lab", "exec", "h0", "h"}), ElementsAre());
}

// The numbers below `count` that begin with `digits`, looked at one by one.
std::vector<uint32_t> Beginning(const std::string& digits, uint32_t count) {
  std::vector<uint32_t> numbers;
  for (uint32_t number = 0; number < count; ++number)
    if (std::to_string(number).compare(0, digits.size(), digits) == 0) numbers.push_back(number);
  return numbers;
}

TEST(TypedNumber, HasTheNumbersThatBeginWithTheTypedDigits) {
  for (const uint32_t count : {1u, 2u, 10u, 16u, 100u, 101u, 1024u, 4096u}) {
    std::vector<std::string> typed = {"", "00", "01", "x", "-1", "1x", "4294967296"};
    for (uint32_t number = 0; number < 1100; number += 7) typed.push_back(std::to_string(number));
    for (const std::string& digits : typed) {
      std::vector<uint32_t> numbers;
      for (const auto& [first, last] : BeginWith(digits, count))
        for (uint32_t number = first; number <= last; ++number) numbers.push_back(number);
      EXPECT_THAT(numbers, ElementsAreArray(Beginning(digits, count))) << digits << " of " << count;
    }
  }
  EXPECT_THAT(TypedNumber("12", 16), ElementsAre(std::pair(12u, 12u)));
  for (const char* none : {"16", "", "012", "x"})
    EXPECT_THAT(TypedNumber(none, 16), ElementsAre()) << none;
}

// Every verb of the parser has a help text and an example that can be typed, and every option has a
// help text.
TEST(Parser, EveryVerbHasHelpAndAnExampleAndEveryOptionHasHelp) {
  Invocation invocation;
  const std::unique_ptr<CLI::App> app = BuildParser(invocation);
  ASSERT_GT(CompletionVerbs(*app).size(), 20u);
  for (const CompletionVerb& verb : CompletionVerbs(*app)) {
    EXPECT_FALSE(verb.help.empty()) << verb.path;
    for (const CompletionOption& option : verb.options)
      EXPECT_FALSE(option.help.empty()) << verb.path;
    const CLI::App* at = app.get();
    const std::vector<std::string> words = absl::StrSplit(verb.path, ' ');
    for (size_t i = 1; i < words.size(); ++i) at = at->get_subcommand(words[i]);
    EXPECT_THAT(at->help(), HasSubstr("Example:\n  ")) << verb.path;
  }
}

TEST(Parser, EveryVerbIsInEveryShellsFile) {
  Invocation invocation;
  const std::unique_ptr<CLI::App> app = BuildParser(invocation);
  ASSERT_GT(CompletionVerbs(*app).size(), 20u);
  for (const CompletionVerb& verb : CompletionVerbs(*app)) {
    EXPECT_THAT(BashCompletion(*app), HasSubstr("'" + verb.path + "'"));
    EXPECT_THAT(ZshCompletion(*app), HasSubstr("'" + verb.path + "'"));
    for (const std::string& name : verb.verbs) EXPECT_THAT(FishCompletion(*app), HasSubstr(name));
  }
}

TEST(Parser, RefusesUnknownVerbsAndMissingArguments) {
  for (const std::string line :
       {"bfly", "bfly nonsense", "bfly describe", "bfly circuit", "bfly circuit setup 1",
        "bfly circuit setup one 2", "bfly counters --top 0", "bfly link up 1 2 32",
        "bfly circuit permutation --protocol magic", "bfly circuit permutation --network x.yaml"}) {
    Invocation invocation;
    const std::unique_ptr<CLI::App> app = BuildParser(invocation);
    EXPECT_THROW(app->parse(line, /*program_name_included=*/true), CLI::ParseError) << line;
  }
}

TEST(Parser, TheRunDirectoryNamesTheControllersSocketUnlessAnAddressIsGiven) {
  Invocation invocation;
  const std::unique_ptr<CLI::App> app = BuildParser(invocation);
  app->parse("bfly status --run-dir /tmp/lab", true);
  EXPECT_EQ(invocation.common.controller_address(), "unix:/tmp/lab/controller.sock");
  app->parse("bfly status --controller 10.0.0.1:7380", true);
  EXPECT_EQ(invocation.common.controller_address(), "10.0.0.1:7380");
}

}  // namespace
}  // namespace bfly::control
