// SPDX-License-Identifier: Apache-2.0
// Which loads of `bfly bench telemetry` are reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "control/cli/telemetry_load.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

// `runs` measurements with a subscriber, each of so many seconds and pictures.
std::vector<TelemetryLoad> Runs(size_t runs, double seconds, double pictures) {
  return std::vector<TelemetryLoad>(
      runs, TelemetryLoad{.pictures = pictures / seconds, .seconds = seconds});
}

constexpr uint32_t kIntervalMs = 100;

TEST(CheckPictures, AsksForFourFifthsInAllRunsTogether) {
  EXPECT_TRUE(CheckPictures(kIntervalMs, Runs(31, 0.5, 5)).ok());
  EXPECT_TRUE(CheckPictures(kIntervalMs, Runs(31, 0.5, 4)).ok());
  EXPECT_FALSE(CheckPictures(kIntervalMs, Runs(31, 0.5, 3)).ok());
  EXPECT_THAT(std::string(CheckPictures(kIntervalMs, Runs(31, 0.5, 3)).message()),
              HasSubstr("6.0 pictures/s came, 10.0 were asked for"));
  // A few runs that have all of their pictures do not stand for the others.
  std::vector<TelemetryLoad> half = Runs(16, 0.5, 5);
  for (const TelemetryLoad& load : Runs(15, 0.5, 0)) half.push_back(load);
  EXPECT_FALSE(CheckPictures(kIntervalMs, half).ok());
}

TEST(CheckPictures, OnePictureMayBeMissedByTheMomentOfTheLookButNotAll) {
  EXPECT_TRUE(CheckPictures(kIntervalMs, Runs(1, 0.3, 2)).ok());
  EXPECT_FALSE(CheckPictures(kIntervalMs, Runs(1, 0.3, 1)).ok());
  EXPECT_FALSE(CheckPictures(kIntervalMs, Runs(1, 0.1, 0)).ok());
}

TEST(CheckTelemetryOptions, AsksForThreeIntervals) {
  EXPECT_TRUE(CheckTelemetryOptions({}).ok());
  EXPECT_TRUE(CheckTelemetryOptions({.interval_ms = 100, .seconds = 0.3}).ok());
  const absl::Status refused = CheckTelemetryOptions({.interval_ms = 100, .seconds = 0.2});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("--seconds: 0.2 s is less than 3 intervals of 100 ms (--interval)"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("use at least 0.3 s"));
}

}  // namespace
}  // namespace bfly::control
