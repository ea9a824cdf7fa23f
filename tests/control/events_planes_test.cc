// SPDX-License-Identifier: Apache-2.0
// Events of data planes, of their workers and of their ports.
#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <vector>

#include "control/controller/plane_events.h"
#include "tests/control/events_fixture.h"

namespace bfly::control {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

using EventsPlanesTest = EventsServiceTest;

TEST_F(EventsPlanesTest, ADataPlaneIsKilledAndComesBack) {
  board_.worker_passes = {{1, 10}, {2, 20}};
  Start();
  ASSERT_TRUE(SetUpCircuit(*controller_, 3, 5).ok());
  EventWatcher watcher(*controller_, OnlyEvents(v1::Event::DATA_PLANE, 0));
  EventWatcher workers(*controller_, OnlyEvents(v1::Event::WORKERS, 0));
  EXPECT_EQ(watcher.Next()->data_plane().change(), v1::DataPlaneEvent::UP);
  v1::WorkersEvent event = workers.Next()->workers();
  EXPECT_EQ(event.change(), v1::WorkersEvent::STARTED);
  EXPECT_THAT(event.lcores(), ElementsAre(1, 2));
  agent_.reset();
  v1::Event lost = *watcher.Next();
  EXPECT_EQ(lost.data_plane().change(), v1::DataPlaneEvent::UNREACHABLE);
  EXPECT_EQ(lost.data_plane().data_plane(), "dp0");
  EXPECT_EQ(lost.severity(), v1::Event::ERROR);
  EXPECT_THAT(lost.text(), HasSubstr("cannot be reached"));
  EXPECT_EQ(workers.Next()->workers().change(), v1::WorkersEvent::DIED);
  agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  v1::DataPlaneEvent back = watcher.Next()->data_plane();
  // It may be seen while it is being loaded.
  while (back.change() == v1::DataPlaneEvent::OUT_OF_STEP) back = watcher.Next()->data_plane();
  EXPECT_EQ(back.change(), v1::DataPlaneEvent::BACK);
  EXPECT_TRUE(back.restarted());
  EXPECT_EQ(back.circuits_made_up(), 1u);
  EXPECT_EQ(workers.Next()->workers().change(), v1::WorkersEvent::STARTED);
}

TEST_F(EventsPlanesTest, AWorkerHangsAndGoesOn) {
  board_.worker_passes = {{1, 10}, {2, 20}};
  agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  controller_ =
      std::make_unique<TestController>(directory_.path(), 20, PollOnlyWhenAsked(),
                                       std::vector<std::string>(), LookRule(), milliseconds(1));
  EventWatcher watcher(*controller_, OnlyEvents(v1::Event::WORKERS));
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  EXPECT_EQ(watcher.Next()->workers().change(), v1::WorkersEvent::STARTED);
  // Nobody counts passes, so both workers stand still.
  v1::Event event = *watcher.Next();
  EXPECT_EQ(event.workers().change(), v1::WorkersEvent::HUNG);
  EXPECT_THAT(event.workers().lcores(), ElementsAre(1, 2));
  EXPECT_EQ(event.severity(), v1::Event::ERROR);
  {
    const std::lock_guard lock(board_.mutex);
    board_.worker_passes[1].second = 21;
  }
  event = *watcher.Next();
  EXPECT_EQ(event.workers().change(), v1::WorkersEvent::BACK);
  EXPECT_THAT(event.workers().lcores(), ElementsAre(2));
}

TEST_F(EventsPlanesTest, PortsLoseTheirLinkAndTheirDevice) {
  board_.ports = {{.name = "p0", .lcores = {}}, {.name = "p1", .lcores = {}}};
  Start();
  EventWatcher watcher(*controller_, OnlyEvents(v1::Event::PORT));
  // The watching thread sees each state before the next one comes.
  const auto set = [&](bool link_up, const std::string& problem) {
    const std::lock_guard lock(board_.mutex);
    board_.ports[1].link_up = link_up;
    board_.ports[1].problem = problem;
  };
  set(false, "");
  v1::Event event = *watcher.Next();
  EXPECT_EQ(event.port().change(), v1::PortEvent::LINK_DOWN);
  EXPECT_EQ(event.port().port(), "p1");
  EXPECT_EQ(event.text(), "port p1 of data plane dp0: the link is down");
  set(true, "");
  EXPECT_EQ(watcher.Next()->port().change(), v1::PortEvent::LINK_UP);
  set(false, "interface bf0 is gone");
  event = *watcher.Next();
  EXPECT_EQ(event.port().change(), v1::PortEvent::DEVICE_LOST);
  EXPECT_EQ(event.text(), "port p1 of data plane dp0: interface bf0 is gone");
  set(true, "");
  EXPECT_EQ(watcher.Next()->port().change(), v1::PortEvent::DEVICE_BACK);
}

// Looks at a data plane of two workers, without any process behind it.
class PlaneEventsTest : public testing::Test {
 protected:
  PlaneEventsTest() {
    plane_.Learn([](DataPlane::Known& known) {
      known.reachable = known.in_step = true;
      known.boot_id = "first";
      for (const uint32_t lcore : {1u, 2u}) known.workers.Add()->set_lcore(lcore);
    });
    SetPasses(100);
    Look();
  }
  void SetPasses(uint64_t passes) {
    plane_.Learn([&](DataPlane::Known& known) {
      for (v1::AgentWorker& worker : known.workers) worker.set_passes(passes);
    });
  }
  void SetReachable(bool reachable, int late_looks) {
    plane_.Learn([&](DataPlane::Known& known) {
      known.reachable = known.in_step = reachable;
      known.late_looks = late_looks;
    });
  }
  void Look() { events_.Look(plane_, /*ours=*/true, now_ += std::chrono::seconds(1)); }
  // What was told of workers so far; each event is of both.
  std::vector<v1::WorkersEvent::Change> Told() {
    std::vector<v1::WorkersEvent::Change> told;
    EventCursor cursor = log_.BeginAt({.kinds = {v1::Event::WORKERS}, .since = 0}).cursor;
    while (const auto next = log_.Read(cursor)) {
      EXPECT_THAT(next->event->workers().lcores(), ElementsAre(1, 2));
      told.push_back(next->event->workers().change());
    }
    return told;
  }

  EventLog log_;
  PlaneEvents events_{log_, std::chrono::seconds(5)};
  DataPlane plane_{"dp0", "unix:/nowhere/dp0.sock", {}};
  PlaneEvents::Clock::time_point now_;
};

TEST_F(PlaneEventsTest, AProcessThatStartsAnewAndStaysOutOfStepIsToldOnce) {
  plane_.Learn([](DataPlane::Known& known) {
    known.boot_id = "second";
    known.in_step = false;
    known.problem = "runs another fabric";
  });
  for (uint64_t passes = 1; passes <= 5; ++passes) {
    SetPasses(passes);
    Look();
  }
  EXPECT_THAT(Told(), ElementsAre(v1::WorkersEvent::STARTED, v1::WorkersEvent::DIED,
                                  v1::WorkersEvent::STARTED));
}

TEST_F(PlaneEventsTest, NamesSixteenWorkersAndCountsAll) {
  plane_.Learn([](DataPlane::Known& known) {
    known.boot_id = "second";
    known.workers.Clear();
    for (uint32_t lcore = 1; lcore <= 20; ++lcore) known.workers.Add()->set_lcore(lcore);
  });
  EventCursor cursor = log_.BeginAt({.kinds = {v1::Event::WORKERS}}).cursor;
  Look();
  ASSERT_TRUE(log_.Read(cursor).has_value());  // the two of the first process are lost
  const auto next = log_.Read(cursor);
  ASSERT_TRUE(next.has_value());
  const v1::WorkersEvent& started = next->event->workers();
  EXPECT_EQ(started.change(), v1::WorkersEvent::STARTED);
  EXPECT_EQ(started.lcores_size(), 16);
  EXPECT_EQ(started.lcores(15), 16u);
  EXPECT_EQ(started.count(), 20u);
}

TEST_F(PlaneEventsTest, WorkersOfAProcessThatAnswersLateAreNotLost) {
  SetReachable(false, /*late_looks=*/3);
  for (int look = 0; look < 10; ++look) Look();
  SetReachable(true, 0);
  // A process that was stopped has made no pass when it answers first.
  Look();
  SetPasses(200);
  Look();
  EXPECT_THAT(Told(), ElementsAre(v1::WorkersEvent::STARTED));
}

TEST_F(PlaneEventsTest, WorkersBehindABrokenConnectionDidNotStartAgain) {
  SetReachable(false, 0);
  Look();
  Look();
  SetReachable(true, 0);
  SetPasses(200);
  Look();
  EXPECT_THAT(Told(), ElementsAre(v1::WorkersEvent::STARTED, v1::WorkersEvent::DIED,
                                  v1::WorkersEvent::BACK));
}

TEST_F(PlaneEventsTest, AProcessThatHungAndWasReplacedTookItsWorkersAlong) {
  SetReachable(false, /*late_looks=*/3);
  Look();
  SetReachable(true, 0);
  plane_.Learn([](DataPlane::Known& known) { known.boot_id = "second"; });
  SetPasses(200);
  Look();
  EXPECT_THAT(Told(), ElementsAre(v1::WorkersEvent::STARTED, v1::WorkersEvent::DIED,
                                  v1::WorkersEvent::STARTED));
}

}  // namespace
}  // namespace bfly::control
