// SPDX-License-Identifier: Apache-2.0
// The closing account of a fabric some of whose data planes died before the end.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ClosingAccountTest : public testing::Test {
 protected:
  std::unique_ptr<TestAgent> Agent(const std::string& name) {
    return std::make_unique<TestAgent>(directory_.path(), name, FakeBackend(board_, name));
  }

  FakeBoard board_;
  TemporaryFolder directory_;
};

TEST_F(ClosingAccountTest, TheLastAccountOfAKilledDataPlaneIsWhatItLastSaidAndIsNotCalledComplete) {
  auto dp0 = Agent("dp0");
  // The controller reads the sums by itself, without a client's request.
  TestController controller(directory_.path(), 20, {.idle_interval = std::chrono::milliseconds(5)});
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  {
    const std::lock_guard lock(board_.mutex);
    board_.figures["dp0"].conservation = {
        .injected = 310'058, .delivered = 310'050, .dropped = 3, .in_flight = 5};
    board_.log.clear();
  }
  const auto looked = [&](int times) {
    const std::lock_guard lock(board_.mutex);
    return std::count(board_.log.begin(), board_.log.end(), "read dp0") >= times;
  };
  ASSERT_TRUE(Eventually([&] { return looked(3); }));
  dp0.reset();
  const auto last = Call(*controller.fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest());
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->conservation().injected(), 310'058u);
  EXPECT_EQ(last->conservation().delivered(), 310'050u);
  EXPECT_EQ(last->conservation().dropped(), 8u);  // also what it held
  EXPECT_EQ(last->conservation().in_flight(), 0u);
  ASSERT_EQ(last->unknown_size(), 1);
  EXPECT_THAT(last->unknown(0), HasSubstr("data plane dp0: 1 of its processes"));
}

TEST_F(ClosingAccountTest, TheLastAccountCountsTheProcessBeforeARestartToo) {
  auto dp0 = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  const auto set = [&](uint64_t packets) {
    const std::lock_guard lock(board_.mutex);
    board_.figures["dp0"].conservation = {.injected = packets, .delivered = packets};
  };
  set(127'017);
  ASSERT_TRUE(
      Call(*controller.telemetry, &v1::Telemetry::Stub::GetCounters, v1::GetCountersRequest())
          .ok());
  dp0.reset();
  set(37'962);
  dp0 = Agent("dp0");
  ASSERT_TRUE(Eventually([&] { return dp0->host().held(false).loaded; }));
  const auto last = Call(*controller.fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest());
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->conservation().injected(), 127'017u + 37'962u);
  EXPECT_EQ(last->unknown_size(), 1);
}

// Its data planes were unloaded and loaded again: they count from 0, fewer packets than before or
// more, and none of their processes has ended.
TEST_F(ClosingAccountTest, AFabricThatCouldNotBeReplacedCountsFromZeroAndMissesNoProcess) {
  auto dp0 = Agent("dp0");
  auto dp1 = Agent("dp1");
  TestController controller(directory_.path());
  const auto count = [&](uint64_t packets) {
    const std::lock_guard lock(board_.mutex);
    board_.figures["dp0"].conservation = {.injected = packets, .delivered = packets};
  };
  const auto refuse = [&](std::set<std::string> planes) {
    const std::lock_guard lock(board_.mutex);
    board_.refused_planes = std::move(planes);
  };
  for (const uint64_t packets : {10u, 5'000u}) {
    count(0);
    ASSERT_TRUE(Load(controller, SmallTopology()).ok());
    count(1'000);
    const auto before =
        Call(*controller.telemetry, &v1::Telemetry::Stub::GetCounters, v1::GetCountersRequest());
    ASSERT_TRUE(before.ok()) << before.status();
    EXPECT_EQ(before->conservation().injected(), 1'000u);
    refuse({"dp1"});
    ASSERT_FALSE(Load(controller, SmallTopology(/*split=*/true), /*replace=*/true).ok());
    refuse({});
    count(packets);
    const auto last = Call(*controller.fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest());
    ASSERT_TRUE(last.ok()) << last.status();
    EXPECT_EQ(last->conservation().injected(), packets);
    EXPECT_EQ(last->conservation().delivered(), packets);
    EXPECT_EQ(last->conservation().dropped(), 0u);
    EXPECT_THAT(last->unknown(), IsEmpty());
  }
}

}  // namespace
}  // namespace bfly::control
