// SPDX-License-Identifier: Apache-2.0
// A kind of experiment that is neither of those shipped: tosses of a coin. What every kind gets
// without a line of its own: seeds, verdicts, rows of results, and a run that continues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "bfly/v1/circuit_experiment.pb.h"
#include "control/measure/core/curve_rows.h"
#include "control/measure/core/figure_rows.h"
#include "control/measure/core/sweep.h"
#include "control/measure/measure.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

struct CoinPoint {
  int d = 0;  // 2^d tosses
  double bias = 0.5;

  std::string Curve() const { return "coin"; }
  std::string ToString() const { return absl::StrCat("coin d=", d); }
  Json ToJson() const { return {{"d", d}}; }
  std::string ToCsv() const { return absl::StrCat(d); }
};

// The file of another kind serves: it has d, seeds and claims.
class CoinExperiment final : public ExperimentOf<v1::CircuitExperiment> {
 public:
  absl::StatusOr<std::vector<Point>> Sweep() const override {
    std::vector<CoinPoint> points(1);
    control::Sweep(points, message().d(),
                   [](CoinPoint& x, uint32_t d) { x.d = static_cast<int>(d); });
    return std::vector<Point>(points.begin(), points.end());
  }
  const std::vector<Claim>& Claims() const override {
    static const auto heads = [](const Measurement& m) { return BySeeds(m.Over("heads")); };
    static const std::vector<Claim> claims = {
        {.id = "fair",
         .statement = "half of the tosses are heads",
         .source = "counted",
         .theory = [](const CoinPoint& x) { return x.bias; },
         .measured = heads},
        {.id = "falls_on_its_head",
         .statement = "all tosses are heads",
         .source = "counted",
         .theory = [](const CoinPoint&) { return 1; },
         .measured = heads},
        {.id = "large",
         .statement = "half of many tosses are heads",
         .source = "counted",
         .not_applicable = [](const CoinPoint& x) { return x.d < 8 ? "few tosses" : ""; },
         .theory = [](const CoinPoint& x) { return x.bias; },
         .measured = heads},
        {.id = "about_dice",
         .statement = "a die has six sides",
         .source = "counted",
         .about = [](const CoinPoint&) { return "is about dice"; }}};
    return claims;
  }
  absl::StatusOr<Trial> Run(const Point& point, uint64_t seed,
                            const std::function<bool()>&) const override {
    const CoinPoint& coin = point;
    ++runs_;
    std::mt19937_64 random(seed);
    int heads = 0;
    for (int toss = 0; toss < 1 << coin.d; ++toss) heads += random() >> 63;
    Trial trial{.seed = seed, .batch_delays = {}};
    trial.figures["heads"] = heads / static_cast<double>(1 << coin.d);
    return trial;
  }
  void AddResults(const Report& report, Json& results) const override {
    results["series"] = FigureSeries(report.series, {});
  }
  std::vector<std::pair<std::string, std::string>> Files(const Report& report) const override {
    return {{"results.csv", FigureCsv("d", report.series)},
            {"claims.txt", ClaimsByCurve(report, "coin", true)}};
  }
  std::string Summary(const Report&) const override { return ""; }
  absl::StatusOr<std::vector<Figure>> Figures(const Json&) const override {
    return std::vector<Figure>();
  }
  int runs() const { return runs_; }

 private:
  mutable int runs_ = 0;
};

TEST(ExperimentKind, GetsVerdictsRowsAndContinuation) {
  CoinExperiment experiment;
  for (const uint32_t d : {6, 10}) experiment.mutable_message()->add_d(d);
  for (uint64_t seed = 1; seed <= 20; ++seed) experiment.mutable_message()->add_seeds(seed);
  const TemporaryFolder folder;
  const auto run = [&](size_t trials) {
    auto journal = Journal::Open(folder / "out", "coin");
    EXPECT_TRUE(journal.ok()) << journal.status();
    auto report = Measure(experiment, *journal, [&](const Progress& p) { return p.done < trials; });
    EXPECT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(WriteReport(experiment, *report, folder / "out").ok());
    return *std::move(report);
  };
  const Report part = run(25);
  EXPECT_FALSE(part.complete);
  EXPECT_EQ(part.series.size(), 1u) << "the points that are whole";
  const Report whole = run(1000);
  EXPECT_TRUE(whole.complete);
  EXPECT_EQ(experiment.runs(), 2 * 20) << "each trial was run once";
  std::vector<std::string> verdicts;
  for (const ClaimResult& claim : whole.claims) {
    verdicts.push_back(
        absl::StrCat(claim.id, " ", claim.point.d(), " ", VerdictName(claim.verdict)));
  }
  EXPECT_THAT(verdicts,
              ElementsAre("fair 6 PASS", "falls_on_its_head 6 FAIL", "large 6 NOT APPLICABLE",
                          "fair 10 PASS", "falls_on_its_head 10 FAIL", "large 10 PASS"));
  EXPECT_THAT(whole.claims_elsewhere, ElementsAre("about_dice"));
  EXPECT_EQ(whole.family.tests, 5);
  const Json results = Json::parse(*ReadFile(folder / "out/results.json"));
  EXPECT_EQ(results["verdicts"]["PASS"], 3);
  EXPECT_EQ(results["series"][1]["point"]["d"], 10);
  // 20 x 1024 tosses: one standard deviation of the mean is 0.0035.
  EXPECT_NEAR(results["series"][1]["heads"]["mean"].get<double>(), 0.5, 0.02);
  EXPECT_THAT(*ReadFile(folder / "out/results.csv"),
              HasSubstr("d,figure,mean,ci95,min,max,trials\n6,heads,"));
  EXPECT_THAT(*ReadFile(folder / "out/claims.txt"), HasSubstr("about no coin here: about_dice"));
}

}  // namespace
}  // namespace bfly::control
