// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

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

}  // namespace
}  // namespace bfly::control
