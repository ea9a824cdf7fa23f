// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "control/cli/bench_all.h"
#include "control/cli/set_each.h"
#include "control/cli/suggestion.h"
#include "control/cli/syntax.h"
#include "control/cli/verb.h"
#include "control/server/number_option.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What the validator makes of a text; "wrong" if it refuses it.
std::string Rewritten(const CLI::Validator& validator, std::string text) {
  return validator(text).empty() ? text : "wrong";
}

TEST(RatePerSecond, TakesWhatBflyPrints) {
  EXPECT_EQ(Rewritten(RatePerSecond(), "20.0k/s"), "20000");
  EXPECT_EQ(Rewritten(RatePerSecond(), "1k"), "1000");
  EXPECT_EQ(Rewritten(RatePerSecond(), "1.5M"), "1500000");
  EXPECT_EQ(Rewritten(RatePerSecond(), "812"), "812");
  EXPECT_EQ(Rewritten(RatePerSecond(), "1e6"), "1000000");
  for (const char* wrong : {"k", "1kk", "1 x", "", "1k/m", "fast"}) {
    EXPECT_EQ(Rewritten(RatePerSecond(), wrong), "wrong") << wrong;
  }
}

TEST(TimeInSeconds, TakesEveryUnitAndAPlainNumber) {
  EXPECT_EQ(Rewritten(TimeInSeconds(), "50us"), "5e-05");
  EXPECT_EQ(Rewritten(TimeInSeconds(), "812 ns"), "8.12e-07");
  EXPECT_EQ(Rewritten(TimeInSeconds(), "1.5ms"), "0.0015");
  EXPECT_EQ(Rewritten(TimeInSeconds(), "2"), "2");
  EXPECT_EQ(Rewritten(TimeInSeconds(), "5min"), "300");
  EXPECT_EQ(Rewritten(TimeInSeconds(), "1h"), "3600");
  EXPECT_EQ(Rewritten(TimeInMilliseconds(), "250"), "250");
  EXPECT_EQ(Rewritten(TimeInMilliseconds(), "0.25s"), "250");
  for (const char* wrong : {"s", "1 day", "", "1ks", "soon"}) {
    EXPECT_EQ(Rewritten(TimeInSeconds(), wrong), "wrong") << wrong;
  }
}

std::string Ranges(const std::vector<std::string>& words) {
  CLI::App app;
  std::vector<uint32_t> rows;
  AddRanges(app, "--rows", rows, "");
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return testing::PrintToString(rows);
}

TEST(NumberFrom, TakesNumbersInItsRangeAlone) {
  const CLI::Validator part = NumberFrom(0.1, 60.0);
  for (const std::string right : {"0.1", "60", "6e1", "1"}) {
    EXPECT_EQ(Rewritten(part, right), right);
  }
  for (const std::string wrong : {"nan", "-nan", "inf", "0.09", "60.1", "1 s", ""}) {
    EXPECT_EQ(Rewritten(part, wrong), "wrong") << wrong;
  }
  std::string text = "nan";
  EXPECT_EQ(part(text), "'nan' is not a number in [0.1 - 60]");
}

TEST(AddRanges, TakesRangesNumbersAndTheOptionAgain) {
  EXPECT_EQ(Ranges({"--rows", "0-3,8"}), "{ 0, 1, 2, 3, 8 }");
  EXPECT_EQ(Ranges({"--rows", "1,2"}), "{ 1, 2 }");
  EXPECT_EQ(Ranges({"--rows", "5", "--rows", "7-8"}), "{ 5, 7, 8 }");
  EXPECT_THAT(Ranges({"--rows", "3-1"}), HasSubstr("runs backwards, write 1-3"));
  EXPECT_THAT(Ranges({"--rows", "0-4000000000"}), HasSubstr("is outside 0..1048575"));
  EXPECT_THAT(Ranges({"--rows", "a"}), HasSubstr("\"a\" is not a range"));
}

TEST(LinkSyntax, OneLinkCanBeWrittenInEveryWayThatIsPrinted) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"s3 r5 p1"}, {"s3", "r5", "p1"}, {"3", "5", "1"}, {"3,5,1"}, {LinkText(3, 5, 1)}}) {
    const auto link = OneLink(words);
    ASSERT_TRUE(link.ok()) << link.status();
    EXPECT_EQ(LinkText(link->stage(), link->row(), link->port()), "s3 r5 p1");
  }
  EXPECT_THAT(std::string(OneLink({"s3 r0-5 p1"}).status().message()),
              HasSubstr("is not one link, such as 's3 r5 p1'"));
  EXPECT_THAT(std::string(OneLink({"s3 r5"}).status().message()), HasSubstr("is not one link"));
  EXPECT_THAT(std::string(OneLink({"3,5,32"}).status().message()),
              HasSubstr("is not a port; ports are p0 and p1"));
}

TEST(LinkSyntax, ASelectorMayBeQuotedOrNot) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"s3 r0-15"}, {"s3", "r0-15"}}) {
    const auto selector = SelectorOf(words);
    ASSERT_TRUE(selector.ok()) << selector.status();
    EXPECT_EQ(selector->stages(), "3");
    EXPECT_EQ(selector->rows(), "0-15");
    EXPECT_FALSE(selector->has_port());
  }
}

TEST(EditDistance, CountsInsertionsRemovalsExchangesAndSwaps) {
  EXPECT_EQ(EditDistance("counters", "counters"), 0u);
  EXPECT_EQ(EditDistance("cuonters", "counters"), 1u);  // two neighbours swapped
  EXPECT_EQ(EditDistance("counter", "counters"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
}

TEST(Suggestion, SaysWhatMayHaveBeenMeant) {
  Invocation invocation;
  const auto app = BuildParser(invocation);
  const auto meant = [&app](const std::vector<std::string>& words) {
    return Suggestion(*app, words);
  };
  EXPECT_EQ(meant({"cuonters"}), "there is no verb `bfly cuonters`; did you mean `bfly counters`?");
  EXPECT_EQ(meant({"circuit", "lsit"}),
            "there is no verb `bfly circuit lsit`; did you mean `bfly circuit list`?");
  EXPECT_EQ(meant({"counters", "--rwos=3"}),
            "`bfly counters` has no option --rwos; did you mean --rows?");
  EXPECT_THAT(meant({"zzzzzzzz"}), HasSubstr("use one of describe, up, status"));
  EXPECT_THAT(meant({"zzzzzzzz"}), testing::Not(HasSubstr("values"))) << "the help hides it";
  EXPECT_THAT(meant({"value"}), testing::Not(HasSubstr("did you mean")));
  EXPECT_EQ(meant({"counters", "--rows", "a"}), "");
}

// Every verb of the program that does something, by its whole name.
std::vector<std::pair<std::string, CLI::App*>> Leaves(CLI::App& app, const std::string& path) {
  const std::vector<CLI::App*> below = app.get_subcommands({});
  if (below.empty()) return {{path, &app}};
  std::vector<std::pair<std::string, CLI::App*>> leaves;
  for (CLI::App* verb : below) {
    if (verb->get_group().empty()) continue;  // not in the help
    const auto more = Leaves(*verb, path + " " + verb->get_name());
    leaves.insert(leaves.end(), more.begin(), more.end());
  }
  return leaves;
}

// Whether the option can be given this value.
bool Takes(CLI::Option* option, const std::string& value) {
  option->clear();
  try {
    option->add_result(value);
    option->run_callback();
  } catch (const CLI::Error&) {
    return false;
  }
  return true;
}

TEST(Parser, EveryHelpHasTheExitCodesAndEveryVerbButTwoTakesJson) {
  Invocation invocation;
  const auto app = BuildParser(invocation);
  for (const auto& [path, verb] : Leaves(*app, "bfly")) {
    const bool ends_as_another = path == "bfly lab exec";
    EXPECT_THAT(verb->help(),
                HasSubstr(ends_as_another ? "Exit codes: the command's; 125 bfly failed"
                                          : "Exit codes: 0 done, 1 refused or failed"))
        << path;
    const bool none = ends_as_another || path == "bfly completion";
    EXPECT_EQ(verb->get_option_no_throw("--json") == nullptr, none) << path;
  }
}

TEST(Parser, TakesTheOptionsOfEveryFigureOfBenchAll) {
  for (const BenchFigure& figure : AllFigures()) {
    for (const std::vector<std::string>& options : {figure.words, figure.quick_words}) {
      Invocation invocation;
      const auto app = BuildParser(invocation);
      std::vector<std::string> words(options.rbegin(), options.rend());  // the last one first
      words.emplace_back("bench");
      EXPECT_NO_THROW(app->parse(words)) << testing::PrintToString(options);
    }
  }
}

TEST(Parser, SourcesTakeEveryRateOfTheApi) {
  Invocation invocation;
  const auto app = BuildParser(invocation);
  for (const auto& [path, verb] : Leaves(*app, "bfly")) {
    CLI::Option* option = nullptr;
    if (path == "bfly traffic start") option = verb->get_option("--rate");
    if (path == "bfly circuit permutation") option = verb->get_option("--traffic");
    if (option == nullptr) continue;
    EXPECT_TRUE(Takes(option, "1e12")) << path;
    EXPECT_FALSE(Takes(option, "1e13")) << path;
  }
}

TEST(Parser, NoWholeNumberIsTakenForAnother) {
  Invocation invocation;
  const auto app = BuildParser(invocation);
  int numbers = 0;
  for (const auto& [path, verb] : Leaves(*app, "bfly")) {
    for (CLI::Option* option : verb->get_options()) {
      const auto takes = [option = option](const char* text) { return Takes(option, text); };
      constexpr const char* kOthers[] = {"x", "1.5", "0.5", "1s", "0-1", "127.0.0.1:7390"};
      if (option->get_items_expected_max() == 0 ||
          std::any_of(std::begin(kOthers), std::end(kOthers), takes)) {
        continue;
      }
      // As an unsigned number of 64 bits the first is 3; in octal 010 is 8.
      for (const std::string wrong : {"-18446744073709551613", " -18446744073709551613", "010",
                                      "+010", "08", "00", "18446744073709551616"}) {
        EXPECT_FALSE(Takes(option, wrong)) << path << " " << option->get_name() << " " << wrong;
      }
      numbers += Takes(option, "64") && Takes(option, "0x40");
    }
  }
  EXPECT_GT(numbers, 60);
  EXPECT_THROW(app->parse("bfly bench steps --seed 010", true), CLI::ValidationError);
}

TEST(Parser, ARunDirectoryThatIsTypedCountsMoreThanTheVariable) {
  const auto address = [](const std::string& words) {
    Invocation invocation;
    BuildParser(invocation)->parse("bfly status " + words, true);
    return invocation.common.controller_address();
  };
  ASSERT_EQ(setenv("BFLY_CONTROLLER", "10.0.0.1:7380", 1), 0);
  ASSERT_EQ(setenv("BFLY_RUN_DIR", "/tmp/hers", 1), 0);
  EXPECT_EQ(address(""), "10.0.0.1:7380");
  EXPECT_EQ(address("--run-dir /tmp/mine"), "unix:/tmp/mine/controller.sock");
  EXPECT_EQ(address("--run-dir /tmp/hers"), "unix:/tmp/hers/controller.sock");
  EXPECT_EQ(address("--controller 10.0.0.1:7380 --run-dir /tmp/mine"), "10.0.0.1:7380");
  unsetenv("BFLY_CONTROLLER");
  EXPECT_EQ(address(""), "unix:/tmp/hers/controller.sock");
  unsetenv("BFLY_RUN_DIR");
  EXPECT_EQ(address(""), "unix:/run/bfly/controller.sock");
}

TEST(Parser, VerbsOfARunDirectoryRefuseAnotherController) {
  const auto code = [](const std::string& controller) {
    Common common;
    common.run_dir = "/tmp/mine";
    common.controller = controller;
    return WorksInRunDir(common).code();
  };
  EXPECT_EQ(code(""), absl::StatusCode::kOk);
  EXPECT_EQ(code("unix:/tmp/mine/controller.sock"), absl::StatusCode::kOk);
  EXPECT_EQ(code("unix:/tmp/hers/controller.sock"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("10.0.0.1:7380"), absl::StatusCode::kInvalidArgument);
}

TEST(Parser, WebInFrontOfTheFileIsExplained) {
  for (const std::string verb : {"up", "lab up"}) {
    Invocation invocation;
    const auto app = BuildParser(invocation);
    try {
      app->parse("bfly " + verb + " --web bb8.yaml --json", true);
      ADD_FAILURE();
    } catch (const CLI::ParseError& error) {
      EXPECT_STREQ(error.what(),
                   "--web: 'bb8.yaml' is no PORT or ADDRESS:PORT; write --web behind FILE");
    }
    app->clear();
    for (const std::string right : {"bb8.yaml --web", "bb8.yaml --web 0", "--web 127.0.0.2:7390 f"})
      EXPECT_NO_THROW(app->parse("bfly " + verb + " " + right, true)) << right;
  }
}

TEST(NodeSyntax, NodesAreALevelAndARowOrRangesOfThem) {
  const auto text = [](const std::vector<std::string>& words) -> std::string {
    const absl::StatusOr<NodeSelector> nodes = NodesOf(words);
    if (!nodes.ok()) return std::string(nodes.status().message());
    return nodes->levels + " and " + nodes->rows;
  };
  EXPECT_EQ(text({"2", "6"}), "2 and 6");
  EXPECT_EQ(text({"2 6"}), "2 and 6");
  EXPECT_EQ(text({"l2", "r0-3,8"}), "2 and 0-3,8");
  for (const std::string wrong : {"", "2", "l2 6", "2 r6", "s2 r6", "r6 l2", "1 2 3", "2 x"}) {
    EXPECT_EQ(text({wrong}), "\"" + wrong +
                                 "\" names no nodes (allowed: level and row, or ranges of them, "
                                 "such as 2 6 or 'l2 r0-3')");
  }
}

TEST(SetEach, SaysWhatWasDoneBeforeACallThatFails) {
  const auto failing_at = [](size_t bad, bool up) {
    std::vector<int> set;
    const auto call = [&](int item) {
      if (set.size() + 1 == bad) return absl::FailedPreconditionError("no");
      set.push_back(item);
      return absl::OkStatus();
    };
    const absl::Status status = SetEach(std::vector<int>{5, 6, 7, 8}, "link", up, call,
                                        [](int item) { return "s" + std::to_string(item); });
    EXPECT_EQ(set.size(), std::min<size_t>(bad - 1, 4));
    return std::string(status.message());
  };
  EXPECT_EQ(failing_at(1, false), "no");
  EXPECT_EQ(failing_at(2, true), "no\n1 of 4 links was brought back before this, the last s5");
  EXPECT_EQ(failing_at(3, false), "no\n2 of 4 links were taken down before this, the last s6");
  EXPECT_EQ(failing_at(5, false), "");
}

// What the parser says of the words behind `bfly traffic start`; empty if it takes them.
std::string StartError(const std::vector<std::string>& words) {
  Invocation invocation;
  const auto app = BuildParser(invocation);
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  reversed.insert(reversed.end(), {"start", "traffic"});
  try {
    app->parse(reversed);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(TrafficStart, RefusesOptionsThatItWouldNotUse) {
  for (const std::vector<std::string>& right : std::vector<std::vector<std::string>>{
           {"--to", "p-flip", "--p", "0.25"},
           {"--to", "hotspot", "--hotspots", "3,7", "--weights", "2,1"},
           {"--process", "bernoulli", "--slot", "1ms"},
           {"--process", "slotted-batch", "--slot", "1ms"},
           {"--process", "on-off", "--on", "1s", "--duty", "0.5"},
           {"--trace", "a.csv", "--priority", "3", "--latency"}}) {
    EXPECT_EQ(StartError(right), "") << testing::PrintToString(right);
  }
  const auto refused = [](const std::vector<std::string>& words, const std::string& why) {
    EXPECT_THAT(StartError(words), HasSubstr(why)) << testing::PrintToString(words);
  };
  refused({"--p", "0.25"}, "--p: --to circuit does not take it (allowed: --to p-flip)");
  refused({"--to", "uniform", "--hotspots", "3"}, "(allowed: --to hotspot)");
  refused({"--to", "p-flip", "--weights", "3"}, "(allowed: --to hotspot)");
  refused({"--slot", "1ms"},
          "--process constant does not take it (allowed: --process bernoulli or slotted-batch)");
  refused({"--process", "poisson", "--on", "1s"}, "(allowed: --process on-off)");
  refused({"--duty", "0.5"}, "(allowed: --process on-off)");
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{"--p", "0.5"},
                                             {"--hotspots", "3"},
                                             {"--weights", "1"},
                                             {"--slot", "1ms"},
                                             {"--on", "1s"},
                                             {"--duty", "0.5"},
                                             {"--seed", "1"}}) {
    std::vector<std::string> words = {"--trace", "a.csv"};
    words.insert(words.end(), other.begin(), other.end());
    EXPECT_THAT(StartError(words),
                testing::AllOf(HasSubstr("excludes"), HasSubstr(other[0]), HasSubstr("--trace")));
  }
}

}  // namespace
}  // namespace bfly::control
