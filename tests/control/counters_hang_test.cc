// SPDX-License-Identifier: Apache-2.0
// Status and counters while a data plane hangs: they come in time, and say what is missing.
#include <gmock/gmock.h>

#include <chrono>
#include <future>

#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// dp0 runs stages 0 to 3 and dp1 stages 4 to 7.
class CountersHangTest : public testing::Test {
 protected:
  void Start(int watch_interval_ms) {
    dp0_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(near_, "dp0"));
    dp1_ = std::make_unique<TestAgent>(directory_.path(), "dp1", FakeBackend(far_, "dp1"));
    controller_ = std::make_unique<TestController>(directory_.path(), watch_interval_ms,
                                                   PollOnlyWhenAsked(), std::vector<std::string>(),
                                                   LookRule{.time = milliseconds(50), .late = 3});
    ASSERT_TRUE(Load(*controller_, SmallTopology(/*split=*/true)).ok());
    ASSERT_TRUE(
        Call(*controller_->telemetry, &v1::Telemetry::Stub::GetCounters, v1::GetCountersRequest())
            .ok());
    near_.CloseGate();
    hangs_ = std::async(std::launch::async, [this] {
      return dp0_->host().SetFault(LinkId{0, 1, 0}, /*down=*/true);
    });
    ASSERT_TRUE(Eventually([this] { return near_.SomethingWaits(); }));
  }
  void TearDown() override {
    near_.OpenGate();
    if (hangs_.valid()) {
      EXPECT_TRUE(hangs_.get().ok());
    }
  }

  template <class Stub, class Request, class Response>
  absl::Status CallWithin(milliseconds time, Stub& stub,
                          grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                       Response*),
                          const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + time);
    return FromGrpc((stub.*method)(&context, request, response));
  }
  // Asks for the status and for the counters, with so much time for each.
  void Ask(milliseconds time) {
    const absl::Status asked = CallWithin(time, *controller_->fabric, &v1::Fabric::Stub::Status,
                                          v1::StatusRequest(), &status_);
    EXPECT_TRUE(asked.ok()) << asked;
    const absl::Status counted =
        CallWithin(time, *controller_->telemetry, &v1::Telemetry::Stub::GetCounters,
                   v1::GetCountersRequest(), &counters_);
    EXPECT_TRUE(counted.ok()) << counted;
  }

  TemporaryFolder directory_;
  FakeBoard near_, far_;
  std::unique_ptr<TestAgent> dp0_, dp1_;
  std::unique_ptr<TestController> controller_;
  std::future<absl::Status> hangs_;
  v1::StatusResponse status_;
  v1::Counters counters_;
};

TEST_F(CountersHangTest, NoCallWaitsForADataPlaneThatIsKnownNotToAnswer) {
  Start(/*watch_interval_ms=*/20);
  ASSERT_TRUE(Eventually([&] {
    return controller_->controller().Status().data_planes(0).state() ==
           v1::DataPlaneStatus::UNREACHABLE;
  }));
  // A call that asked the data plane would wait 5 s for it, which is AgentClient's patience and
  // less than half of the time that the call has.
  const auto begin = std::chrono::steady_clock::now();
  Ask(milliseconds(20'000));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5'000));
  EXPECT_EQ(status_.status().data_planes(0).state(), v1::DataPlaneStatus::UNREACHABLE);
  EXPECT_EQ(status_.status().data_planes(1).state(), v1::DataPlaneStatus::RUNNING);
  EXPECT_THAT(counters_.problems(), Contains(HasSubstr("data plane dp0: it does not answer; its "
                                                       "last figures are used")));
  EXPECT_TRUE(counters_.links_missing());
  EXPECT_THAT(counters_.planes_missing(), ElementsAre("dp0"));
}

TEST_F(CountersHangTest, UntilItIsKnownTheAnswersComeBeforeTheDeadline) {
  Start(/*watch_interval_ms=*/3'600'000);
  Ask(milliseconds(3'000));
  EXPECT_TRUE(status_.status().loaded());
  EXPECT_THAT(status_.status().data_planes(), SizeIs(2));
  EXPECT_TRUE(counters_.links_missing());
}

TEST_F(CountersHangTest, OnceItAnswersNoLinksAreMissing) {
  Start(/*watch_interval_ms=*/20);
  near_.OpenGate();
  EXPECT_TRUE(Eventually([&] {
    const auto counters =
        Call(*controller_->telemetry, &v1::Telemetry::Stub::GetCounters, v1::GetCountersRequest());
    return counters.ok() && !counters->links_missing() && counters->planes_missing().empty() &&
           counters->links_size() == 8 * 16 * 2;
  }));
}

}  // namespace
}  // namespace bfly::control
