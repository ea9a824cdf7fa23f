// SPDX-License-Identifier: Apache-2.0
// The log of events: what a reader gets, in which order, and what he is told to have missed. All
// counts are made by hand.
#include "control/events/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "control/events/event_logger.h"
#include "control/events/event_record.h"
#include "control/events/event_words.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kInfo = v1::Event::INFO;
constexpr auto kDebug = v1::Event::DEBUG;

v1::Event Notice(const std::string& text, v1::Event::Severity severity = kInfo) {
  v1::Event event;
  event.set_severity(severity);
  event.mutable_notice()->set_text(text);
  return event;
}
v1::Event Primary(uint64_t id) {
  v1::Event event;
  event.set_severity(kInfo);
  event.mutable_primary()->set_election_id(id);
  return event;
}

// The numbers of the events that there are for the reader now, each with what he missed before it.
using Seen = std::pair<uint64_t, uint64_t>;
std::vector<Seen> ReadAll(const EventLog& log, EventCursor& cursor) {
  std::vector<Seen> seen;
  while (const auto next = log.Read(cursor)) {
    seen.emplace_back(next->event->sequence(), next->missed);
  }
  return seen;
}

EventLog::Options Keep(size_t most) {
  return {.most_of_a_kind = most, .time_of_day = [] {
            return std::chrono::system_clock::time_point(std::chrono::seconds(7));
          }};
}

TEST(EventLog, NumbersEventsFromOneOverAllKinds) {
  EventLog log(Keep(10));
  EventCursor cursor = log.BeginAt({}).cursor;
  log.Add(Notice("a"));
  log.Add(Primary(3));
  log.Add(Notice("b"));
  const auto first = log.Read(cursor);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->event->sequence(), 1u);
  EXPECT_EQ(first->event->time_ns(), 7'000'000'000);
  EXPECT_EQ(first->event->notice().text(), "a");
  EXPECT_THAT(ReadAll(log, cursor), ElementsAre(Seen(2, 0), Seen(3, 0)));
  EXPECT_THAT(ReadAll(log, cursor), IsEmpty());
  log.Add(Primary(4));
  EXPECT_THAT(ReadAll(log, cursor), ElementsAre(Seen(4, 0)));
}

TEST(EventLog, GivesAReaderWhatCameSince) {
  EventLog log(Keep(10));
  for (int i = 1; i <= 5; ++i) log.Add(Notice("x"));
  EXPECT_EQ(log.BeginAt({}).newest, 5u);
  EXPECT_EQ(log.BeginAt({}).oldest, 1u);
  EventCursor all = log.BeginAt({.since = 0}).cursor;
  EXPECT_EQ(ReadAll(log, all).size(), 5u);
  EventCursor some = log.BeginAt({.since = 3}).cursor;
  EXPECT_THAT(ReadAll(log, some), ElementsAre(Seen(4, 0), Seen(5, 0)));
  EventCursor none = log.BeginAt({.since = 5}).cursor;
  EXPECT_THAT(ReadAll(log, none), IsEmpty());
}

TEST(EventLog, ToldWhatIsKeptNoLonger) {
  EventLog log(Keep(3));
  for (int i = 1; i <= 10; ++i) log.Add(Notice("x"));  // 8, 9, 10 are kept
  EXPECT_EQ(log.BeginAt({.since = 0}).missed, 7u);
  EXPECT_EQ(log.BeginAt({.since = 0}).oldest, 8u);
  EXPECT_EQ(log.BeginAt({.since = 5}).missed, 2u);  // 6 and 7
  EXPECT_EQ(log.BeginAt({.since = 7}).missed, 0u);
  EXPECT_EQ(log.BeginAt({.since = 9}).missed, 0u);
  EXPECT_EQ(log.BeginAt({}).missed, 0u);
  EventCursor cursor = log.BeginAt({.since = 5}).cursor;
  EXPECT_THAT(ReadAll(log, cursor), ElementsAre(Seen(8, 0), Seen(9, 0), Seen(10, 0)));
}

TEST(EventLog, TellsASlowReaderHowManyWereDropped) {
  EventLog log(Keep(3));
  EventCursor cursor = log.BeginAt({}).cursor;
  log.Add(Notice("1"));
  EXPECT_THAT(ReadAll(log, cursor), ElementsAre(Seen(1, 0)));
  for (int i = 2; i <= 9; ++i) log.Add(Notice("x"));  // 7, 8, 9 are kept; 2 to 6 are lost
  EXPECT_THAT(ReadAll(log, cursor), ElementsAre(Seen(7, 5), Seen(8, 0), Seen(9, 0)));
}

TEST(EventLog, ManyEventsOfAKindDriveOutNoOthers) {
  EventLog log(Keep(2));
  EventCursor cursor = log.BeginAt({}).cursor;
  log.Add(Primary(1));                               // 1
  for (int i = 0; i < 5; ++i) log.Add(Notice("x"));  // 2 to 6; 5 and 6 are kept
  log.Add(Primary(2));                               // 7
  log.Add(Notice("x"));                              // 8; 6 and 8 are kept
  log.Add(Notice("quiet", kDebug));                  // 9
  // What was lost stands before the first event after it: 2 to 5 before 6, and nothing before 1.
  EXPECT_THAT(ReadAll(log, cursor),
              ElementsAre(Seen(1, 0), Seen(6, 4), Seen(7, 0), Seen(8, 0), Seen(9, 0)));
}

TEST(EventLog, CountsOnlyWhatTheReaderWants) {
  EventLog log(Keep(2));
  const EventLog::Filter filter = {.kinds = {v1::Event::PRIMARY}, .since = 0};
  EventCursor cursor = log.BeginAt(filter).cursor;
  for (int i = 0; i < 9; ++i) log.Add(Notice("x"));  // 1 to 9
  log.Add(Primary(1));                               // 10
  EXPECT_THAT(ReadAll(log, cursor), ElementsAre(Seen(10, 0)));
  EXPECT_EQ(log.BeginAt(filter).missed, 0u) << "no lost event is of this kind";
  EXPECT_EQ(log.BeginAt({.since = 0}).missed, 7u);
  for (uint64_t i = 2; i <= 4; ++i) log.Add(Primary(i));  // 11 to 13; 12 and 13 are kept
  EXPECT_THAT(ReadAll(log, cursor), ElementsAre(Seen(12, 1), Seen(13, 0)));

  EventCursor urgent = log.BeginAt({.least = v1::Event::WARNING, .since = 0}).cursor;
  EXPECT_THAT(ReadAll(log, urgent), IsEmpty());
  log.Add(Notice("!", v1::Event::ERROR));
  log.Add(Notice("x"));
  EXPECT_THAT(ReadAll(log, urgent), ElementsAre(Seen(14, 0)));
}

// What a log should do, by a list of all events that there ever were.
struct Listed {
  v1::Event event;
  bool kept = true;
  bool Fits(const EventLog::Filter& filter) const {
    const auto kind = static_cast<v1::Event::Kind>(event.what_case());
    return event.severity() >= filter.least &&
           (filter.kinds.empty() || filter.kinds.front() == kind);
  }
};
class PlainList {
 public:
  explicit PlainList(size_t most_of_a_kind) : most_(most_of_a_kind) {}
  void Add(const v1::Event& event) {
    all_.push_back({event});
    const auto alike = [&](const Listed& other) {
      return other.kept && other.event.what_case() == event.what_case() &&
             other.event.severity() == event.severity();
    };
    if (std::count_if(all_.begin(), all_.end(), alike) <= static_cast<ptrdiff_t>(most_)) return;
    std::find_if(all_.begin(), all_.end(), alike)->kept = false;
  }
  // How many events after number `since` fit the filter, and are kept or not.
  uint64_t Count(uint64_t since, const EventLog::Filter& filter, bool kept) const {
    return std::count_if(
        all_.begin() + static_cast<ptrdiff_t>(since), all_.end(),
        [&](const Listed& listed) { return listed.kept == kept && listed.Fits(filter); });
  }
  // The number of the first kept event after number `since` that fits; 0: there is none.
  uint64_t Next(uint64_t since, const EventLog::Filter& filter) const {
    for (size_t i = since; i < all_.size(); ++i) {
      if (all_[i].kept && all_[i].Fits(filter)) return i + 1;
    }
    return 0;
  }

 private:
  const size_t most_;
  std::vector<Listed> all_;
};

TEST(EventLog, IsReadAsAPlainListIs) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const size_t most = 1 + random() % 4;
    EventLog log(Keep(most));
    PlainList list(most);
    uint64_t newest = 0;
    const auto add = [&](size_t count) {
      for (size_t i = 0; i < count; ++i, ++newest) {
        const auto severity = random() % 2 == 0 ? kInfo : v1::Event::ERROR;
        const v1::Event event = random() % 2 == 0 ? Primary(1) : Notice("x", severity);
        log.Add(event);
        list.Add(event);
      }
    };
    add(random() % 20);
    EventLog::Filter filter = {.since = random() % (newest + 1)};
    if (random() % 2 == 0) filter.kinds = {v1::Event::NOTICE};
    if (random() % 2 == 0) filter.least = v1::Event::ERROR;
    EventLog::Begin begin = log.BeginAt(filter);
    ASSERT_EQ(begin.newest, newest);
    ASSERT_EQ(begin.oldest, list.Next(0, {}));
    const uint64_t lost = list.Count(*filter.since, filter, false);
    ASSERT_GE(begin.missed, lost) << "round " << round;
    ASSERT_LE(begin.missed, list.Count(*filter.since, {}, false)) << "round " << round;

    // Reads now and then, and at last all that is left. What was lost meanwhile is told once.
    uint64_t last = *filter.since, read = 0, missed = 0;
    for (int turn = 0; turn < 20; ++turn) {
      if (turn < 19) add(random() % 4);
      for (size_t left = turn < 19 ? random() % 4 : SIZE_MAX; left > 0; --left, ++read) {
        const uint64_t expected = list.Next(last, filter);
        const auto next = log.Read(begin.cursor);
        ASSERT_EQ(next.has_value() ? next->event->sequence() : 0, expected) << "round " << round;
        if (expected == 0) break;
        missed += next->missed;
        last = expected;
      }
    }
    const uint64_t came =
        list.Count(*filter.since, filter, true) + list.Count(*filter.since, filter, false);
    ASSERT_EQ(read + missed, came - lost) << "round " << round;
  }
}

TEST(EventLog, EndsWithThePastForWhoWantsNoMore) {
  EventLog log(Keep(10));
  log.Add(Notice("1"));
  EventCursor cursor = log.BeginAt({.since = 0, .past_only = true}).cursor;
  log.Add(Notice("2"));
  EXPECT_THAT(ReadAll(log, cursor), ElementsAre(Seen(1, 0)));
}

TEST(EventLog, TellsWhoWantsThePastHowManyOfItsLastEventsAreGone) {
  EventLog log(Keep(2));
  log.Add(Notice("1"));
  log.Add(Notice("2"));
  log.Add(Notice("3", kDebug));
  const EventLog::Filter past{.since = 0, .past_only = true};
  EventCursor cursor = log.BeginAt(past).cursor;
  EventCursor in_time = log.BeginAt(past).cursor;
  log.Add(Notice("4"));
  EXPECT_THAT(ReadAll(log, in_time), ElementsAre(Seen(2, 1), Seen(3, 0)));
  EXPECT_EQ(log.MissedAtEnd(in_time), 0u);
  for (const char* later : {"5", "6", "7"}) log.Add(Notice(later));
  // 1 and 2 are gone, and so are 4 and 5, which the reader does not want.
  EXPECT_THAT(ReadAll(log, cursor), ElementsAre(Seen(3, 0)));
  EXPECT_EQ(log.MissedAtEnd(cursor), 2u);
  EXPECT_EQ(log.MissedAtEnd(cursor), 0u) << "it is told once";
}

TEST(EventLog, TwoRunsHaveTwoNames) { EXPECT_NE(EventLog().run_id(), EventLog().run_id()); }

TEST(EventLog, CutsWhatIsTooLong) {
  EventLog log(Keep(10));
  v1::Event event;
  event.set_severity(kInfo);
  event.mutable_workers()->set_count(40);
  for (uint32_t i = 0; i < 400; ++i) event.mutable_workers()->add_lcores(i);
  event.mutable_workers()->set_data_plane(std::string(600, 'a'));
  log.Add(std::move(event));
  // A character of two bytes is not cut in two: 511 and then the half of one.
  log.Add(Notice(std::string(511, 'a') + "\u00e4\u00e4"));
  EventCursor cursor = log.BeginAt({.since = 0}).cursor;
  const auto first = log.Read(cursor);
  EXPECT_EQ(first->event->workers().lcores_size(), 16);
  EXPECT_EQ(first->event->workers().count(), 40u);
  EXPECT_EQ(first->event->workers().data_plane().size(), 512u);
  EXPECT_EQ(log.Read(cursor)->event->notice().text(), std::string(511, 'a'));
}

TEST(EventLogger, LogsEveryEventFromItsLevelOn) {
  EventLog log(Keep(10));
  log.Add(Notice("before"));
  std::mutex mutex;
  std::vector<std::string> lines;
  {
    EventLogger logger(log, LogLevel::kInfo, [&](const LogRecord& record) {
      const std::lock_guard lock(mutex);
      lines.push_back(record.text);
    });
    log.Add(Notice("quiet", kDebug));
    log.Add(Notice("after", v1::Event::WARNING));
  }
  EXPECT_THAT(lines, ElementsAre("before", "after"));
}

TEST(EventWords, ArePlain) {
  v1::Event event;
  v1::CircuitsEvent& circuits = *event.mutable_circuits();
  circuits.mutable_set_up()->set_count(3);
  for (const uint64_t id : {17, 18}) circuits.mutable_set_up()->add_ids(id);
  circuits.mutable_released()->set_count(1);
  circuits.mutable_released()->add_ids(4);
  circuits.set_standing(9);
  EXPECT_EQ(WordsOf(event), "3 circuits set up (17, 18, ...), 1 released (4); 9 stand");
  v1::LinksEvent& links = *event.mutable_links();
  links.set_change(v1::LinksEvent::FAILED);
  links.set_count(1);
  links.add_links()->set_row(5);
  EXPECT_EQ(WordsOf(event), "link s0 r5 p0 failed");
  v1::DataPlaneEvent& plane = *event.mutable_data_plane();
  plane.set_data_plane("dp0");
  plane.set_change(v1::DataPlaneEvent::BACK);
  plane.set_restarted(true);
  plane.set_circuits_made_up(2);
  EXPECT_EQ(WordsOf(event), "data plane dp0 is back, started anew and in step, 2 circuits made up");
}

TEST(EventRecord, HasTheFieldsOfTheEvent) {
  v1::Event event;
  event.set_sequence(8);
  event.set_severity(v1::Event::ERROR);
  event.mutable_workers()->set_change(v1::WorkersEvent::HUNG);
  event.mutable_workers()->set_data_plane("dp1");
  event.mutable_workers()->add_lcores(2);
  event.mutable_workers()->add_lcores(5);
  event.mutable_workers()->set_count(2);
  const LogRecord record = RecordOf(event);
  EXPECT_EQ(record.event, "workers");
  EXPECT_THAT(
      JournalFields(record, "bfly-controller"),
      ElementsAre("MESSAGE=workers on lcores 2, 5 of data plane dp1 have begun no pass for seconds",
                  "PRIORITY=3", "SYSLOG_IDENTIFIER=bfly-controller", "BFLY_EVENT=workers",
                  "BFLY_SEQUENCE=8", "BFLY_CHANGE=hung", "BFLY_DATA_PLANE=dp1", "BFLY_LCORES=2,5",
                  "BFLY_COUNT=2"));
}

}  // namespace
}  // namespace bfly::control
