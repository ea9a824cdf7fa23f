// SPDX-License-Identifier: Apache-2.0
#include "topologies/splitter_report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "topologies/expansion.h"
#include "topologies/expansion_theory.h"
#include "topologies/random.h"

namespace bfly {
namespace {

// The work on one level, in steps of about a nanosecond.
constexpr double kWorkOfLevel = 1 << 29;
constexpr double kSearchOfLevel = 1 << 26;
constexpr int kMostStarts = 32;

// The ratios that are reported: the papers' and those between.
std::vector<double> Betas(int degree) {
  std::vector<double> betas;
  for (const double beta : {1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 14.0}) {
    if (beta <= degree) betas.push_back(beta);
  }
  return betas;
}

void TakeFewer(const std::vector<uint32_t>& of_side, std::vector<uint32_t>& fewest) {
  if (fewest.empty()) fewest = of_side;
  for (size_t k = 0; k < fewest.size(); ++k) fewest[k] = std::min(fewest[k], of_side[k]);
}

// The splitters of one level, side after side.
class LevelReport {
 public:
  LevelReport(const Network& network, int stage)
      : network_(network), betas_(Betas(network.multiplicity())), found_(betas_.size()) {
    level_.stage = stage;
    level_.inputs = network.rows() >> stage;
    level_.splitters = 1u << stage;
    level_.exact = level_.inputs <= kMaxExactInputs;
  }

  LevelExpansion Make() {
    const double sides = std::max(1.0, kWorkOfLevel / WorkOfSide() / kDirections);
    level_.examined = static_cast<uint32_t>(std::min(sides, static_cast<double>(level_.splitters)));
    for (uint32_t splitter = 0; splitter < level_.examined; ++splitter) {
      for (int direction = 0; direction < kDirections; ++direction) Examine(splitter, direction);
    }
    for (size_t i = 0; i < betas_.size(); ++i) level_.sets.push_back(SetsOf(i));
    return level_;
  }

 private:
  double WorkOfSide() const {
    const double outputs = level_.inputs / 2.0;
    if (level_.exact) return std::ldexp(1, static_cast<int>(level_.inputs));
    if (level_.inputs <= kMaxSpectralInputs) return outputs * outputs * outputs;
    return level_.inputs * network_.multiplicity();
  }

  void Examine(uint32_t splitter, int direction) {
    const SplitterSide side = SideOf(network_, level_.stage, splitter, direction);
    if (level_.exact) return TakeFewer(ExactFewestNeighbours(side), fewest_);
    double lambda = FirstSingularValueSquared(side);
    if (level_.inputs <= kMaxSpectralInputs) {
      lambda = SecondSingularValueSquared(side);
      level_.second_singular_value =
          std::max(level_.second_singular_value.value_or(0), std::sqrt(lambda));
    }
    TakeFewer(CertifiedNeighbours(side, lambda), fewest_);
    Search(side, splitter, direction);
  }

  void Search(const SplitterSide& side, uint32_t splitter, int direction) {
    const double edges = 2.0 * side.degree * side.degree * level_.inputs;
    const int starts = static_cast<int>(std::clamp(
        kSearchOfLevel / edges / level_.examined / kDirections, 1.0, double{kMostStarts}));
    const uint64_t which =
        (uint64_t{splitter} * kDirections + static_cast<uint64_t>(direction)) * 64 +
        static_cast<uint64_t>(level_.stage);
    const uint64_t seed = Random64(network_.spec().seed, RandomStream::kSplitterSample, which);
    const std::vector<FewNeighbours> found = SearchFewNeighbours(side, betas_, starts, seed);
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].inputs.empty()) continue;
      if (found_[i].has_value() && found_[i]->inputs.size() <= found[i].inputs.size()) continue;
      ExpansionViolation violation{splitter, direction, found[i].inputs, found[i].neighbours};
      for (Row& input : violation.inputs) input += splitter * level_.inputs;
      found_[i] = violation;
    }
  }

  ExpandingSets SetsOf(size_t i) const {
    ExpandingSets sets{.beta = betas_[i],
                       .at_least = LargestExpanding(fewest_, betas_[i]),
                       .at_most = 0,
                       .violation = found_[i]};
    if (level_.exact) {
      sets.at_most = sets.at_least;
    } else if (found_[i].has_value()) {
      sets.at_most = static_cast<uint32_t>(found_[i]->inputs.size()) - 1;
    } else {
      // More inputs than that would need more outputs than a side has.
      sets.at_most = static_cast<uint32_t>(level_.inputs / 2.0 / betas_[i] + 1e-9);
    }
    return sets;
  }

  const Network& network_;
  const std::vector<double> betas_;
  LevelExpansion level_;
  std::vector<uint32_t> fewest_;  // exact or certified, over the examined sides
  std::vector<std::optional<ExpansionViolation>> found_;  // by beta
};

}  // namespace

SplitterReport ReportSplitters(const Network& network) {
  SplitterReport report;
  for (int stage = 0; stage < network.stages(); ++stage) {
    report.levels.push_back(LevelReport(network, stage).Make());
    const LevelExpansion& level = report.levels.back();
    report.examined_all = report.examined_all && level.examined == level.splitters;
  }
  const std::vector<double> betas = Betas(network.multiplicity());
  for (size_t i = 0; i < betas.size(); ++i) {
    NetworkExpansion& all = report.network.emplace_back();
    all.beta = betas[i];
    all.alpha_at_least = all.alpha_at_most = std::numeric_limits<double>::infinity();
    for (const LevelExpansion& level : report.levels) {
      // Sets of floor(alpha m) inputs must not be larger than K.
      const double inputs = level.inputs;
      all.alpha_at_least = std::min(all.alpha_at_least, (level.sets[i].at_least + 1) / inputs);
      all.alpha_at_most = std::min(all.alpha_at_most, (level.sets[i].at_most + 1) / inputs);
    }
    all.fact_1_alpha = AlphaOfFact1(network.multiplicity(), all.beta);
    all.concentrator_alpha = AlphaOfConcentrators(network.multiplicity(), all.beta);
    all.delta = DeltaOfNeighbours(network.multiplicity(), all.beta, kNeighboursWanted);
  }
  return report;
}

}  // namespace bfly
