// SPDX-License-Identifier: Apache-2.0
// The page of a reproduction: what stands where on it, and what it is made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "control/measure/core/journal.h"
#include "control/measure/kinds.h"
#include "control/plot/palette.h"
#include "control/reproduce/html.h"
#include "control/reproduce/inline_svg.h"
#include "control/reproduce/page.h"
#include "control/reproduce/plan.h"
#include "control/reproduce/progress.h"
#include "control/reproduce/run_folder.h"
#include "control/reproduce/seeds_text.h"
#include "control/reproduce/shell_word.h"
#include "tests/temporary_folder.h"
#include "tests/unit/made_page.h"

namespace bfly::control {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string Tree(const std::string& path) {
  return std::string(std::getenv("BFLY_SOURCE_ROOT")) + "/topologies/" + path;
}

size_t Times(const std::string& text, const std::string& word) {
  size_t times = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++times;
  return times;
}

TEST(SeedsInWords, AreARangeOnlyIfTheyFollowEachOther) {
  EXPECT_EQ(SeedsInWords({4, 5, 6}), "4 to 6");
  EXPECT_EQ(SeedsInWords({1, 7, 3}), "1, 7, 3");
  EXPECT_EQ(SeedsInWords({1, 3, 3, 4}), "1, 3, 3, 4");
  EXPECT_EQ(SeedsInWords({1, 2}), "1, 2");
}

TEST(ShippedList, NamesEveryShippedExperimentOnceAndReadsItAlsoInAQuickRun) {
  std::multiset<std::string> listed;
  for (const bool quick : {false, true}) {
    const auto plan = MakePlan(Tree("reproduction.yaml"), {}, quick);
    ASSERT_TRUE(plan.ok()) << plan.status();
    for (const PlannedExperiment& planned : plan->experiments) {
      if (quick) listed.insert(planned.name);
      EXPECT_EQ(planned.settings.empty(), !quick) << planned.name;
    }
  }
  std::multiset<std::string> shipped;
  for (const auto& file : std::filesystem::directory_iterator(Tree("experiments"))) {
    shipped.insert(file.path().stem());
  }
  EXPECT_GT(shipped.size(), 5u);
  EXPECT_EQ(listed, shipped) << "an experiment joins by an entry in topologies/reproduction.yaml";
}

TEST(ShippedList, EveryClaimOfEveryExperimentStandsOnThePageOnce) {
  const auto plan = MakePlan(Tree("reproduction.yaml"), {}, false);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<ExperimentOutcome> outcomes;
  std::set<std::string> ids;
  for (const PlannedExperiment& planned : plan->experiments) {
    ExperimentOutcome outcome{.name = planned.name,
                              .title = "",
                              .file = "",
                              .paper = planned.paper,
                              .note = "",
                              .settings = {},
                              .configuration = "",
                              .seeds = "",
                              .claims = {}};
    for (const Claim& claim : planned.experiment->Claims()) {
      outcome.claims.push_back({claim.id, claim.statement, claim.source});
      ids.insert(claim.id);
    }
    outcomes.push_back(outcome);
  }
  EXPECT_GT(ids.size(), 60u);
  const Page page = MakePage(plan->list, plan->chosen, outcomes, false, kProvenance);
  std::map<std::string, int> found;
  for (const PaperPart& paper : page.papers) {
    for (const Statement& statement : paper.statements) ++found[statement.id];
  }
  EXPECT_EQ(found.size(), ids.size());
  const std::string html = Html(page);
  for (const std::string& id : ids) {
    EXPECT_EQ(found[id], 1) << id;
    EXPECT_EQ(Times(html, "id=\"claim-" + id + "\""), 1u) << id;
  }
  // Nothing has run, so nothing has a verdict.
  size_t not_measured = 0;
  for (const v1::Paper& paper : plan->list.papers()) not_measured += paper.not_measured_size();
  EXPECT_EQ(page.Count(std::nullopt), static_cast<int>(ids.size() + not_measured));
  EXPECT_THAT(html, HasSubstr("This page is incomplete"));
}

TEST(ShippedList, DifferencesNameClaimsThatExist) {
  std::set<std::string> ids;
  for (const Kind& kind : Kinds()) {
    for (const Claim& claim : kind.make()->Claims()) ids.insert(claim.id);
  }
  const auto list = ReadReproductionList(Tree("reproduction.yaml"));
  ASSERT_TRUE(list.ok()) << list.status();
  int named = 0;
  for (const v1::Paper& paper : list->papers()) {
    for (const v1::Difference& difference : paper.differences()) {
      for (const std::string& id : difference.claims()) {
        EXPECT_THAT(ids, Contains(id));
        ++named;
      }
    }
  }
  EXPECT_GT(named, 0);
}

TEST(MakePage, AStatementStandsUnderThePaperThatItsSourceNamesElseUnderTheExperiments) {
  const CheckedClaim cited{"cited", "says", "First et al. 1998, section 2"};
  const CheckedClaim own{"own", "says", "derived"};
  const std::vector<ExperimentOutcome> outcomes = {
      Finished("a", "second", {cited, own}, {Result("cited", Verdict::kPass, 2, 1)}),
      Finished("b", "first", {own}, {Result("own", Verdict::kVacuous, 2, 1)})};
  const Page page = MakePage(TwoPapers(), {"first", "second"}, outcomes, false, kProvenance);
  ASSERT_EQ(page.papers.size(), 2u);
  // `own` is judged by b alone, which belongs to the first paper.
  ASSERT_EQ(page.papers[0].statements.size(), 2u);
  EXPECT_EQ(page.papers[0].statements[0].source, "Section 2");
  EXPECT_EQ(page.papers[0].statements[1].source, "derived");
  EXPECT_EQ(page.papers[0].Count(Verdict::kPass), 1);
  EXPECT_EQ(page.papers[0].Count(Verdict::kVacuous), 1);
  EXPECT_TRUE(page.papers[1].statements.empty());
  EXPECT_TRUE(page.complete());
}

// Experiments list the claims of all their programs, also of those that they do not run.
TEST(MakePage, AClaimOfNoPaperIsListedOnlyIfItIsAboutAPoint) {
  const CheckedClaim elsewhere{"elsewhere", "says", "derived"};
  const CheckedClaim unjudged{"unjudged", "says", "derived"};
  const CheckedClaim cited{"cited", "says", "First et al., Lemma 1"};
  const std::vector<ExperimentOutcome> outcomes = {
      Finished("a", "second", {elsewhere, unjudged, cited}, {}),
      Finished("b", "second", {unjudged}, {Result("unjudged", Verdict::kNotApplicable, 0, 0)})};
  const Page page = MakePage(TwoPapers(), {"first", "second"}, outcomes, false, kProvenance);
  ASSERT_EQ(page.papers.size(), 2u);
  ASSERT_EQ(page.papers[0].statements.size(), 1u);
  EXPECT_EQ(page.papers[0].statements[0].id, "cited");
  ASSERT_EQ(page.papers[1].statements.size(), 1u);
  EXPECT_EQ(page.papers[1].statements[0].id, "unjudged");
}

TEST(MakePage, OneFailureAmongManyPointsMakesTheStatementFailAndComesFirst) {
  const CheckedClaim claim{"bound", "T <= 2", "First et al., Theorem 1"};
  std::vector<ClaimResult> results;
  for (int i = 0; i < 30; ++i) results.push_back(Result("bound", Verdict::kPass, 2, 1.9));
  results.push_back(Result("bound", Verdict::kFail, 2, 2.5));
  results.push_back(Result("bound", Verdict::kNotApplicable, 0, 0));
  const std::vector<ExperimentOutcome> outcomes = {Finished("a", "first", {claim}, results)};
  const Page page = MakePage(TwoPapers(), {"first", "second"}, outcomes, false, kProvenance);
  const Statement& statement = page.papers[0].statements[0];
  EXPECT_EQ(statement.verdict(), Verdict::kFail);
  EXPECT_EQ(page.Count(Verdict::kFail), 1);
  EXPECT_EQ(page.papers[0].Points(Verdict::kPass), 30);
  EXPECT_EQ(statement.evidence[0].judged, 31u);
  EXPECT_EQ(statement.evidence[0].closest.size(), kMostPoints);
  EXPECT_EQ(statement.evidence[0].closest[0].measured, 2.5);
  const std::string html = Html(page);
  EXPECT_THAT(html, HasSubstr("1 statement failed"));
  EXPECT_THAT(html, HasSubstr("<span class=\"verdict FAIL\">FAIL</span>"));
  EXPECT_THAT(html, HasSubstr("30 PASS, 1 FAIL"));
}

TEST(MakePage, APaperThatIsNotChosenHasOnlyStatementsThatWereJudged) {
  const std::vector<CheckedClaim> claims = {{"judged", "says", "First et al., 1"},
                                            {"other", "says", "First et al., 2"}};
  const std::vector<ExperimentOutcome> outcomes = {
      Finished("a", "second", claims, {Result("judged", Verdict::kPass, 2, 1)})};
  const Page page = MakePage(TwoPapers(), {"second"}, outcomes, false, kProvenance);
  ASSERT_EQ(page.papers.size(), 2u);
  ASSERT_EQ(page.papers[0].statements.size(), 1u);
  EXPECT_EQ(page.papers[0].statements[0].id, "judged");
}

TEST(PageHtml, EscapesEverythingThatComesFromFiles) {
  const std::string evil = "<script>alert('x')</script> & \"quotes\"";
  const CheckedClaim claim{"id", evil, "First et al., " + evil};
  ClaimResult result = Result("id", Verdict::kVacuous, 2, 1);
  result.reason = evil;
  std::vector<ExperimentOutcome> outcomes = {
      Finished("a", "first", {claim}, {result, Result("id", Verdict::kPass, 2, 1)})};
  outcomes[0].title = outcomes[0].note = outcomes[0].configuration = evil;
  outcomes[0].settings = {evil};
  outcomes[0].texts = {{evil, evil}};
  v1::Reproduction list = TwoPapers();
  list.mutable_papers(0)->set_title(evil);
  v1::Difference& difference = *list.mutable_papers(0)->add_differences();
  difference.set_source(evil);
  difference.set_text(evil);
  const std::string html = Html(MakePage(list, {"first", "second"}, outcomes, true, kProvenance));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_GE(Times(html, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;"), 10u);
}

TEST(PageHtml, AnExperimentThatHasNotRunIsSaid) {
  std::vector<ExperimentOutcome> outcomes = {
      Finished("a", "first", {{"id", "says", "First et al., 1"}}, {})};
  outcomes[0].finished = false;
  const Page page = MakePage(TwoPapers(), {"first"}, outcomes, false, kProvenance);
  EXPECT_THAT(page.papers[0].statements[0].reasons, ElementsAre("a: has not run yet"));
  EXPECT_THAT(Html(page), HasSubstr("0 of 1 experiments have run"));
}

TEST(PageHtml, NamesTheMachinesThatMeasuredAndNotTheOneThatMadeThePage) {
  std::vector<ExperimentOutcome> outcomes;
  for (const char* name : {"a", "b", "c"}) outcomes.push_back(Finished(name, "first", {}, {}));
  outcomes[0].machine = outcomes[2].machine = "4 cores of X";
  outcomes[1].machine = "8 cores of Y";
  const std::string html = Html(MakePage(TwoPapers(), {"first"}, outcomes, false, kProvenance));
  EXPECT_THAT(html, HasSubstr(" on 4 cores of X and 8 cores of Y, built by"));
  EXPECT_THAT(html, Not(HasSubstr(kProvenance.machine)));
}

TEST(InlineSvg, KeepsThePictureMarksColoursAndSeparatesIds) {
  const auto svg = InlineSvg(
      R"(<?xml version="1.0"?><svg viewBox="0 0 9 9" xmlns="http://www.w3.org/2000/svg">
         <title>Gnuplot</title><defs><circle id='gpDot' r='0.5' onclick='x()'/></defs>
         <g fill="none" stroke-linecap="butt"></g>
         <g stroke='rgb( 31, 111, 180)'><path d='M1,1 L2,2 ' style='fill:url(http://x)'/></g>
         <use xlink:href='#gpDot' color='rgb(29,33,37)'/><text>a &lt; b</text></svg>)",
      "f1-", "a <label>");
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_EQ(*svg,
            "<svg role=\"img\" aria-label=\"a &lt;label>\" viewBox=\"0 0 9 9\"><defs><circle "
            "id=\"f1-gpDot\" r=\"0.5\"/></defs><g class=\"stroke-curve0\"><path d=\"M1,1 L2,2\"/>"
            "</g><use href=\"#f1-gpDot\" class=\"color-ink\"/><text>a &lt; b</text></svg>");
}

TEST(InlineSvg, TakesNothingThatRunsOrRefersOutside) {
  for (const char* inside :
       {"<script>alert(1)</script>", "<foreignObject/>", "<image href='http://x/y.png'/>",
        "<use href='http://x/y.svg#a'/>", "<style>@import 'x'</style>", "<a href='#x'/>", "<g>"}) {
    const auto svg = InlineSvg(std::string("<svg>") + inside + "</svg>", "f1-", "label");
    EXPECT_TRUE(absl::IsDataLoss(svg.status())) << inside;
  }
  EXPECT_TRUE(absl::IsDataLoss(InlineSvg("<html></html>", "f1-", "label").status()));
}

TEST(InlineSvg, HasARuleForEveryColourOfFigures) {
  const std::string rules = SvgColourRules();
  for (size_t i = 0; i < kLightPalette.curves.size(); ++i) {
    EXPECT_THAT(rules, HasSubstr("fill:var(--curve" + std::to_string(i) + ")"));
  }
}

TEST(Plan, NamesWhatIsWrongWithAListAndItsLine) {
  const TemporaryFolder folder;
  const std::string file = folder / "list.yaml";
  const auto error = [&](const std::string& text) {
    EXPECT_TRUE(WriteFile(file, text).ok());
    return std::string(MakePlan(file, {}, false).status().message());
  };
  const std::string papers = "papers: [{name: a, title: A}]\n";
  EXPECT_THAT(error(papers + "experiments: [{file: x.yaml, paper: b}]\n"),
              HasSubstr("list.yaml:2: experiments[0].paper: no paper has this name (known: a)"));
  EXPECT_THAT(error("papers: [{name: a, title: A}, {name: a, title: B}]\nexperiments: [{file: "
                    "x.yaml, paper: a}]\n"),
              HasSubstr("another paper has this name"));
  EXPECT_THAT(
      error(papers + "experiments:\n- {file: x.yaml, paper: a}\n- {file: x.yaml, paper: a}\n"),
      HasSubstr("list.yaml:4: experiments[1].file: another experiment has a file of this"));
  EXPECT_THAT(error(papers + "experiments: [{file: x.yaml, paper: a}]\n"), HasSubstr("x.yaml"));
  const auto unknown = MakePlan(Tree("reproduction.yaml"), {"colle"}, false);
  EXPECT_THAT(std::string(unknown.status().message()),
              testing::AllOf(HasSubstr("did you mean cole?"), HasSubstr("diebold")));
}

TEST(RunFolder, GoesOnOnlyWithWhatTheSameBflyMeasuredInTheSameWay) {
  const TemporaryFolder above;
  const std::string folder = above / "out";
  // A kill left the first file that is written there, unfinished.
  std::filesystem::create_directory(folder);
  ASSERT_TRUE(WriteFile(folder + "/reproduction.json.part", "{").ok());
  {
    auto first = RunFolder::Open(folder, "1 (a)", true);
    ASSERT_TRUE(first.ok()) << first.status();
    ASSERT_TRUE(first->Save("x", {.finished = true, .seconds = 3, .figures = {"delay"}}).ok());
  }
  const auto again = RunFolder::Open(folder, "1 (a)", true);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->Find("x").finished);
  EXPECT_THAT(again->Find("x").figures, ElementsAre("delay"));
  EXPECT_FALSE(again->Find("y").finished);
  const auto refusal = [&](const std::string& path, const std::string& version, bool quick) {
    return std::string(RunFolder::Open(path, version, quick).status().message());
  };
  EXPECT_THAT(refusal(folder, "1 (b)", true), HasSubstr("holds results of bfly 1 (a)"));
  EXPECT_THAT(refusal(folder, "1 (a)", false), HasSubstr("holds a quick run"));
  EXPECT_THAT(refusal(folder + "/reproduction.json", "1 (a)", true), HasSubstr("is a file"));
  ASSERT_TRUE(WriteFile(folder + "/reproduction.json", "{}").ok());
  EXPECT_THAT(refusal(folder, "1 (a)", true), HasSubstr("that bfly did not write"));
  std::filesystem::remove(folder + "/reproduction.json");
  ASSERT_TRUE(WriteFile(folder + "/letter.txt", "dear").ok());
  EXPECT_THAT(refusal(folder, "1 (a)", true), HasSubstr("holds something else"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/letter.txt"));
}

TEST(ShellWord, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(ShellWord("a/b-1_2.yaml=1..10,20"), "a/b-1_2.yaml=1..10,20");
  EXPECT_EQ(ShellWord("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(ShellWord("~/x;y"), "'~/x;y'");
  EXPECT_EQ(ShellWord(""), "''");
}

TEST(TimeLeft, GoesByTheListUntilTheMachineHasShownItsPace) {
  TimeLeft left({10, 20, 40});
  EXPECT_DOUBLE_EQ(left.Seconds(0, 0), 70);
  left.Begin(0);
  EXPECT_DOUBLE_EQ(left.Seconds(0.01, 4), 66);
  EXPECT_DOUBLE_EQ(left.Seconds(0.25, 10), 90);  // three times 10 s, and 60 s of the others
  left.End(20);                                  // twice as long as expected
  left.Begin(0.5);                               // half of it was done before
  EXPECT_DOUBLE_EQ(left.Seconds(0.5, 0), 20 + 80);
  left.End(10);  // half as long as that
  left.Begin(0);
  EXPECT_DOUBLE_EQ(left.Seconds(0, 0), 40 * 30.0 / 20);
}

}  // namespace
}  // namespace bfly::control
