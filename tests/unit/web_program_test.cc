// SPDX-License-Identifier: Apache-2.0
// What the page asks of programs, and what it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/web/answers.h"
#include "control/web/query.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

HttpRequest Query(const std::map<std::string, std::string>& query) {
  HttpRequest request;
  request.method = "GET";
  request.path = "/api/program";
  request.query = query;
  return request;
}

TEST(WebProgram, AQueryIsARun) {
  const auto run = RunIn(Query({{"program", "greedy"},
                                {"permutation", "bitrev"},
                                {"seed", "18446744073709551615"},
                                {"h", "3"},
                                {"queue_limit", "2"}}));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->program(), "greedy");
  EXPECT_EQ(run->permutation(), "bitrev");
  EXPECT_EQ(run->seed(), UINT64_MAX);
  EXPECT_EQ(run->h(), 3u);
  EXPECT_EQ(run->queue_limit(), 2u);
  EXPECT_FALSE(run->has_waves());
  EXPECT_FALSE(run->has_buffer());
  const auto waves = RunIn(Query({{"waves", "4"}, {"buffer", "7"}}));
  EXPECT_EQ(waves->program(), "waves");
  EXPECT_EQ(waves->permutation(), "random");
  EXPECT_EQ(waves->waves(), 4u);
  EXPECT_EQ(waves->buffer(), 7u);
}

TEST(WebProgram, EveryWrongNumberIsNamed) {
  const auto run = RunIn(Query({{"seed", "-1"}, {"h", "4294967296"}, {"waves", "x"}}));
  EXPECT_EQ(run.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(run.status().message()),
              AllOf(HasSubstr("seed: \"-1\" is not"), HasSubstr("h: 4294967296 is outside"),
                    HasSubstr("waves: \"x\" is not")));
}

TEST(WebProgram, TheProgramsAreThoseOfRoute) {
  const nlohmann::ordered_json answer = ProgramsAnswer();
  std::vector<std::string> names;
  for (const auto& program : answer["programs"]) names.push_back(program["name"]);
  EXPECT_THAT(names, testing::ElementsAre("waves", "greedy", "h_relation", "extra_stages",
                                          "store_and_forward"));
  EXPECT_THAT(answer["permutations"], Contains("bitrev"));
}

TEST(WebProgram, ARecordingIsToldInLists) {
  v1::RouteRecording recording;
  recording.mutable_report()->set_steps(9);
  recording.add_inputs(1);
  recording.add_begins(UINT32_MAX);
  recording.add_rows(2);
  const nlohmann::ordered_json answer = ProgramAnswer(7, recording);
  EXPECT_EQ(answer["fabric"], 7);
  EXPECT_EQ(answer["report"]["steps"], 9);
  EXPECT_EQ(answer["inputs"], nlohmann::ordered_json({1}));
  EXPECT_EQ(answer["begins"][0], 4294967295u);
  EXPECT_EQ(answer["rows"][0], 2);
  EXPECT_TRUE(answer["steps"].empty());
}

}  // namespace
}  // namespace bfly::control
