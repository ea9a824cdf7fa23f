// SPDX-License-Identifier: Apache-2.0
// Events over real gRPC: every change of a fabric is told once, in order, to clients that read as
// they like.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "control/access/gate.h"
#include "tests/control/events_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(EventsServiceTest, TellsWhichFabricIsLoaded) {
  StartEmpty();
  EventWatcher watcher(*controller_, OnlyEvents(v1::Event::TOPOLOGY));
  EXPECT_EQ(watcher.began().run_id().size(), 16u);
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  v1::Topology other = SmallTopology();
  other.set_name("other");
  ASSERT_TRUE(Load(*controller_, other, /*replace=*/true).ok());
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).ok());
  const v1::Event loaded = *watcher.Next();
  EXPECT_EQ(loaded.topology().change(), v1::TopologyEvent::LOADED);
  EXPECT_EQ(loaded.topology().fabric(), "test");
  EXPECT_EQ(loaded.topology().rows(), 16u);
  EXPECT_EQ(loaded.text(), "fabric test loaded");
  EXPECT_EQ(loaded.run_id(), watcher.began().run_id());
  EXPECT_EQ(loaded.severity(), v1::Event::INFO);
  EXPECT_GT(loaded.time_ns(), 1'700'000'000'000'000'000);
  const v1::Event replaced = *watcher.Next();
  EXPECT_EQ(replaced.topology().change(), v1::TopologyEvent::REPLACED);
  EXPECT_EQ(replaced.topology().before(), "test");
  EXPECT_EQ(watcher.Next()->topology().change(), v1::TopologyEvent::UNLOADED);
}

TEST_F(EventsServiceTest, ACommittedChangeOfCircuitsIsOneEvent) {
  Start();
  EventWatcher watcher(*controller_, OnlyEvents(v1::Event::CIRCUITS));
  const v1::Circuit one = SetUpCircuit(*controller_, 3, 5)->circuit();
  v1::CircuitsEvent event = watcher.Next()->circuits();
  EXPECT_EQ(event.set_up().count(), 1u);
  EXPECT_THAT(event.set_up().ids(), ElementsAre(one.id()));
  EXPECT_EQ(event.standing(), 1u);

  // The permutation releases the circuit and sets 16 up, the most that an event names.
  v1::RoutePermutationRequest permutation;
  permutation.set_protocol("minimum");
  permutation.set_permutation("random");
  permutation.set_replace(true);
  ASSERT_TRUE(Ask(permutation).ok());
  event = watcher.Next()->circuits();
  EXPECT_EQ(event.set_up().count(), 16u);
  EXPECT_EQ(event.set_up().ids_size(), 16);
  EXPECT_EQ(event.released().count(), 1u);
  EXPECT_THAT(event.released().ids(), ElementsAre(one.id()));
  EXPECT_EQ(event.standing(), 16u);

  // What a data plane refuses is no event.
  const v1::Circuit first = List(*controller_)[0];
  ASSERT_TRUE(ReleaseCircuit(*controller_, first.id()).ok());
  EXPECT_EQ(watcher.Next()->circuits().standing(), 15u);
  board_.RefuseInputs({first.input()});
  ASSERT_FALSE(SetUpCircuit(*controller_, first.input(), first.output()).ok());
  board_.RefuseInputs({});
  ASSERT_TRUE(SetUpCircuit(*controller_, first.input(), first.output()).ok());
  EXPECT_EQ(watcher.Next()->circuits().standing(), 16u);
}

TEST_F(EventsServiceTest, ALargeChangeNamesTheFirstCircuitsAndCountsAll) {
  Start(64);
  EventWatcher watcher(*controller_, OnlyEvents(v1::Event::CIRCUITS));
  v1::RoutePermutationRequest permutation;
  permutation.set_protocol("minimum");
  permutation.set_permutation("identity");
  ASSERT_TRUE(Ask(permutation).ok());
  const v1::CircuitsEvent event = watcher.Next()->circuits();
  EXPECT_EQ(event.set_up().count(), 64u);
  EXPECT_EQ(event.set_up().ids_size(), 16);
}

TEST_F(EventsServiceTest, LinksFailAndCircuitsBreakAndMend) {
  Start();
  const v1::Circuit circuit = SetUpCircuit(*controller_, 3, 5)->circuit();
  EventWatcher watcher(*controller_);
  ASSERT_TRUE(SetLink(0, 3, false).ok());
  ASSERT_TRUE(SetLink(0, 3, false).ok());  // it is down already
  v1::SetLinkStateRequest other;
  other.set_row(3);
  other.set_port(1);
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::SetLinkState, other).ok());
  v1::Event event = watcher.Next(v1::Event::LINKS);
  EXPECT_EQ(event.links().change(), v1::LinksEvent::FAILED);
  ASSERT_EQ(event.links().links_size(), 1);
  EXPECT_EQ(event.links().links(0).row(), 3u);
  EXPECT_EQ(event.severity(), v1::Event::WARNING);
  EXPECT_EQ(event.text(), "link s0 r3 p0 failed");
  // The circuit leaves its input by one of the two ports, so one of the two events of links breaks
  // it, and only once.
  EventWatcher past(*controller_, OnlyEvents(v1::Event::CIRCUITS, watcher.began().sequence()));
  event = *past.Next();
  EXPECT_THAT(event.circuits().broken().ids(), ElementsAre(circuit.id()));
  EXPECT_EQ(event.circuits().set_up().count(), 0u);
  EXPECT_EQ(event.severity(), v1::Event::WARNING);
  ASSERT_TRUE(SetLink(0, 3, true).ok());
  other.set_up(true);
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::SetLinkState, other).ok());
  event = *past.Next();
  EXPECT_THAT(event.circuits().mended().ids(), ElementsAre(circuit.id()));
  EXPECT_EQ(event.circuits().broken().count(), 0u);
  // Port 1 failed, and both came back.
  EXPECT_EQ(watcher.Next(v1::Event::LINKS).links().links(0).port(), 1u);
  EXPECT_EQ(watcher.Next(v1::Event::LINKS).links().change(), v1::LinksEvent::RESTORED);

  v1::SetNodeStateRequest node;
  node.set_level(2);
  node.set_row(7);
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::SetNodeState, node).ok());
  v1::SetLinksRequest links;
  v1::LinkOverride& change = *links.add_changes();
  change.set_stages("1");
  change.set_rate("1Gbps");
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::SetLinks, links).ok());
  EXPECT_EQ(watcher.Next(v1::Event::LINKS).links().change(), v1::LinksEvent::RESTORED);
  EXPECT_EQ(watcher.Next(v1::Event::LINKS).text(), "node l2 r7 failed");
  event = watcher.Next(v1::Event::LINKS);
  EXPECT_EQ(event.links().change(), v1::LinksEvent::CHANGED);
  EXPECT_EQ(event.links().changes(0).rate(), "1Gbps");
}

TEST_F(EventsServiceTest, AMovedCircuitIsNotANewOne) {
  Start();
  const v1::Circuit circuit = SetUpCircuit(*controller_, 3, 5)->circuit();
  EventWatcher watcher(*controller_, OnlyEvents(v1::Event::CIRCUITS));
  v1::MoveRequest move;
  move.set_id(circuit.id());
  v1::LinkRef& avoid = *move.add_avoid();
  avoid.set_row(3);
  avoid.set_port(circuit.rows(0) == circuit.rows(1) ? 0 : 1);
  ASSERT_TRUE(Call(*controller_->circuits, &v1::Circuits::Stub::Move, move).ok());
  const v1::CircuitsEvent event = watcher.Next()->circuits();
  EXPECT_THAT(event.moved().ids(), ElementsAre(circuit.id()));
  EXPECT_EQ(event.set_up().count() + event.released().count(), 0u);
  EXPECT_EQ(event.standing(), 1u);
}

TEST_F(EventsServiceTest, ThePrimaryChanges) {
  StartEmpty();
  EventWatcher watcher(*controller_, OnlyEvents(v1::Event::PRIMARY));
  Arbitration& arbitration = controller_->controller().arbitration();
  const int one = 0, two = 0;
  ASSERT_TRUE(arbitration.Ask(&one, 5, [](bool, uint64_t) {}).ok());
  ASSERT_TRUE(arbitration.Ask(&two, 9, [](bool, uint64_t) {}).ok());
  arbitration.Leave(&one);  // it was not the primary
  arbitration.Leave(&two);
  EXPECT_EQ(watcher.Next()->text(), "election id 5 is primary");
  EXPECT_EQ(watcher.Next()->text(), "election id 9 is primary in place of 5");
  const v1::PrimaryEvent last = watcher.Next()->primary();
  EXPECT_EQ(last.election_id(), 0u);
  EXPECT_EQ(last.before(), 9u);
}

TEST_F(EventsServiceTest, TrafficStartsAndStops) {
  Start();
  EventWatcher watcher(*controller_, OnlyEvents(v1::Event::TRAFFIC));
  v1::StartTrafficRequest start;
  start.add_sources()->set_name("a");
  start.add_sources()->set_name("b");
  ASSERT_TRUE(Call(*controller_->traffic, &v1::Traffic::Stub::Start, start).ok());
  v1::StopTrafficRequest stop;
  stop.add_names("a");
  ASSERT_TRUE(Call(*controller_->traffic, &v1::Traffic::Stub::Stop, stop).ok());
  EXPECT_EQ(watcher.Next()->text(), "2 sources (a, b) started");
  EXPECT_EQ(watcher.Next()->text(), "1 source (a) stopped");
}

TEST_F(EventsServiceTest, ThePastIsSentAgain) {
  StartEmpty();
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  for (Row row = 0; row < 3; ++row) ASSERT_TRUE(SetUpCircuit(*controller_, row, row).ok());
  v1::WatchEventsRequest request = OnlyEvents(v1::Event::CIRCUITS, 0);
  request.set_past_only(true);
  EventWatcher all(*controller_, request);
  std::vector<uint64_t> numbers;
  while (const auto event = all.Next()) numbers.push_back(event->sequence());
  ASSERT_EQ(numbers.size(), 3u);
  EXPECT_TRUE(all.End().ok());

  request.set_since(numbers[1]);
  EventWatcher some(*controller_, request);
  EXPECT_EQ(some.Next()->sequence(), numbers[2]);
  EXPECT_FALSE(some.Next().has_value());
  // The number is of a run before this one: everything is new.
  request.set_run_id("another");
  request.set_since(1'000'000);
  EventWatcher another(*controller_, request);
  EXPECT_EQ(another.Next()->sequence(), numbers[0]);
  request.clear_run_id();
  EventWatcher wrong(*controller_, request);
  const absl::Status status = wrong.End();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status), ElementsAre("since"));
}

TEST_F(EventsServiceTest, ASlowClientLosesEventsAndIsToldHowMany) {
  Start();
  EventWatcher watcher(*controller_, OnlyEvents(v1::Event::NOTICE));
  // The client reads nothing: some notices go to buffers of gRPC, and 256 stay in the log. The
  // controller is not held up.
  constexpr uint64_t kNotices = 20'000;
  const std::string text(400, 'x');
  EventLog& log = controller_->controller().events();
  for (uint64_t i = 0; i < kNotices; ++i) log.Note(v1::Event::INFO, text);
  uint64_t got = 0, missed = 0;
  while (got + missed < kNotices) {
    const v1::Event event = *watcher.Next();
    ++got;
    missed += event.missed();
  }
  EXPECT_EQ(got + missed, kNotices);
  EXPECT_GT(missed, 0u);
  // The newest are not lost.
  log.Note(v1::Event::INFO, "last");
  EXPECT_EQ(watcher.Next()->notice().text(), "last");
}

TEST_F(EventsServiceTest, ASlowClientOfThePastIsToldWhatIsMissingAtItsEnd) {
  StartEmpty();
  EventLog& log = controller_->controller().events();
  const std::string text(400, 'x');
  // The log keeps 256 of each severity.
  const auto fill = [&] {
    for (const auto severity :
         {v1::Event::DEBUG, v1::Event::INFO, v1::Event::WARNING, v1::Event::ERROR}) {
      for (int i = 0; i < 256; ++i) log.Note(severity, text);
    }
  };
  fill();
  v1::WatchEventsRequest request = OnlyEvents(v1::Event::NOTICE, 0);
  request.set_past_only(true);
  EventWatcher watcher(*controller_, request);
  fill();
  uint64_t got = 0, missed = 0;
  while (const auto event = watcher.Next()) {
    if (!event->has_began()) ++got;
    missed += event->missed();
  }
  EXPECT_TRUE(watcher.End().ok());
  EXPECT_EQ(got + missed, 4u * 256);
}

TEST_F(EventsServiceTest, OnlyWhatIsUrgent) {
  Start();
  v1::WatchEventsRequest request;
  request.set_severity(v1::Event::WARNING);
  EventWatcher watcher(*controller_, request);
  ASSERT_TRUE(SetUpCircuit(*controller_, 3, 5).ok());
  ASSERT_TRUE(SetLink(7, 0, false).ok());
  EXPECT_EQ(watcher.Next()->links().change(), v1::LinksEvent::FAILED);
}

TEST_F(EventsServiceTest, RefusesWhatItDoesNotKnow) {
  StartEmpty();
  v1::WatchEventsRequest request = OnlyEvents(v1::Event::LINKS);
  request.add_kinds(static_cast<v1::Event::Kind>(3));
  request.set_severity(static_cast<v1::Event::Severity>(9));
  EventWatcher wrong(*controller_, request);
  const absl::Status status = wrong.End();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status), ElementsAre("kinds[1]", "severity"));
  for (int i = 0; i < 10'000; ++i) request.add_kinds(v1::Event::LINKS);
  EventWatcher large(*controller_, request);
  EXPECT_EQ(large.End().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(EventsServiceTest, SoManyStreamsAtATime) {
  StartEmpty();
  Resource& streams = controller_->controller().resources().event_streams;
  streams.SetLimit(2);
  auto one = std::make_unique<EventWatcher>(*controller_);
  EventWatcher two(*controller_);
  EXPECT_EQ(EventWatcher(*controller_).End().code(), absl::StatusCode::kResourceExhausted);
  one.reset();
  EXPECT_TRUE(Eventually([&] { return streams.in_use() == 1; }));
}

TEST_F(EventsServiceTest, AViewerMayRead) {
  StartEmpty();
  Gate gate{AccessRules()};
  CallDesk desk(controller_->controller().resources(), &gate);
  EventsService service(controller_->controller().events(), controller_->controller().resources(),
                        desk);
  EXPECT_EQ(gate.RoleOf("/bfly.v1.Events/Watch"), Role::kViewer);
}

}  // namespace
}  // namespace bfly::control
