// SPDX-License-Identifier: Apache-2.0
// Records of the log as programs read them.
#include "control/log/log_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bfly::control {
namespace {

TEST(LogRecord, IsALineOfJson) {
  const LogRecord record = {
      .level = LogLevel::kWarning,
      .text = "a \"b\"",
      .event = "port",
      .fields = {{"port", "p0"}, {"count", uint64_t{3}}, {"restarted", true}}};
  // 86,400 s after 1970-01-01.
  EXPECT_EQ(JsonLine(record, "bfly-dataplane", 86'400'000'001'000),
            R"({"time":"1970-01-02T00:00:00.000001Z","level":"warning","program":"bfly-dataplane",)"
            R"("event":"port","text":"a \"b\"","port":"p0","count":3,"restarted":true})");
  EXPECT_EQ(LevelOfName("debug"), LogLevel::kDebug);
  EXPECT_EQ(LevelOfName("loud"), std::nullopt);
}

TEST(LogRecord, AFieldDoesNotTakeTheNameOfTheProgramThatLogs) {
  EXPECT_EQ(JsonLine({.text = "begun", .event = "program", .fields = {{"program", "greedy"}}},
                     "bfly-controller", 0),
            R"({"time":"1970-01-01T00:00:00.000000Z","level":"info","program":"bfly-controller",)"
            R"("event":"program","text":"begun","program_program":"greedy"})");
}

TEST(LogRecord, IsFieldsOfTheJournal) {
  const LogRecord record = {.level = LogLevel::kError,
                            .text = "it ends",
                            .fields = {{"data_plane", "dp0"}, {"restarted", false}}};
  EXPECT_THAT(JournalFields(record, "bfly-dp0"),
              testing::ElementsAre("MESSAGE=it ends", "PRIORITY=3", "SYSLOG_IDENTIFIER=bfly-dp0",
                                   "BFLY_DATA_PLANE=dp0", "BFLY_RESTARTED=false"));
}

TEST(LogRecord, BytesThatAreNoTextDoNotEndTheDaemon) {
  EXPECT_THAT(JsonLine({.text = "a\xff"}, "p", 0), testing::HasSubstr("\"text\":\"a"));
}

}  // namespace
}  // namespace bfly::control
