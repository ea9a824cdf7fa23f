// SPDX-License-Identifier: Apache-2.0
// Messages of programs as frames: what is written is read, what lies is refused, and whatever a
// trunk does to the frames of a pass, it comes whole or is known not to.
#include "dataplane/programs/message_stream.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "dataplane/programs/program_frame.h"

namespace bfly::dataplane {
namespace {

using Verdict = MessageReceiver::Verdict;

constexpr uint64_t kRun = uint64_t{77} << 32 | 3;
constexpr ProgramFrameRules kRules{
    .rows = 16, .stages = 8, .stage = 3, .messages = kMessagesAFrame, .passes = 7};

Message Begin(uint64_t run, uint32_t pass = 2) {
  return {.tag = run, .slot = pass, .marker = Marker::kBegin};
}
Message End(uint64_t run) {
  return {.tag = 123456, .slot = static_cast<uint32_t>(run), .marker = Marker::kEnd};
}

struct Bytes {
  uint8_t at[kLongestProgramFrame];
  int length;
};
Bytes Written(const ProgramFrame& frame, const std::vector<Message>& messages) {
  Bytes bytes;
  bytes.length = WriteProgramFrame(frame, kRules, messages.data(), bytes.at);
  return bytes;
}
bool Reads(const Bytes& bytes) {
  ProgramFrame frame;
  Message messages[kMessagesAFrame];
  DropReason reason;
  return ReadProgramFrame(bytes.at, static_cast<uint32_t>(bytes.length), kRules, frame, messages,
                          reason);
}

TEST(ProgramFrame, IsReadAsItWasWritten) {
  const std::vector<Message> sent = {
      Begin(kRun),
      {.tag = 0xa5, .row = 15, .slot = 0xfedcba98, .value = 0x01020304, .notes = {7, 8, 255}},
      End(kRun)};
  const ProgramFrame frame{.run = kRun, .number = 5, .total = 9, .messages = 3};
  const Bytes bytes = Written(frame, sent);
  EXPECT_EQ(bytes.length, 14 + 24 + 3 * 24);
  ProgramFrame read;
  Message messages[kMessagesAFrame];
  DropReason reason;
  ASSERT_TRUE(ReadProgramFrame(bytes.at, static_cast<uint32_t>(bytes.length), kRules, read,
                               messages, reason));
  EXPECT_EQ(read.run, kRun);
  EXPECT_EQ(read.number, 5u);
  EXPECT_EQ(read.total, 9u);
  EXPECT_EQ(read.messages, 3);
  EXPECT_FALSE(read.back || read.lost);
  EXPECT_EQ(std::memcmp(messages, sent.data(), 3 * sizeof(Message)), 0);
  EXPECT_EQ(Written({.run = kRun, .back = true, .lost = true, .lost_after = 3}, {}).length, 60);
}

TEST(ProgramFrame, ThatLiesIsRefused) {
  const ProgramFrame one{.run = kRun, .total = 1, .messages = 1};
  EXPECT_TRUE(Reads(Written(one, {{.tag = 0xff, .row = 15}})));
  EXPECT_FALSE(Reads(Written(one, {{.tag = 0x100}})));
  EXPECT_FALSE(Reads(Written(one, {{.row = 16}})));
  EXPECT_TRUE(Reads(Written(one, {Begin(kRun, 6)})));
  EXPECT_FALSE(Reads(Written(one, {Begin(kRun, 7)})));
  EXPECT_FALSE(Reads(Written(one, {Begin(kRun + 1)})));
  EXPECT_FALSE(Reads(Written(one, {End(kRun + 1)})));
  EXPECT_FALSE(Reads(Written(one, {{.marker = static_cast<Marker>(3)}})));
  const ProgramFrame two{.run = kRun, .messages = 2};
  EXPECT_TRUE(Reads(Written(two, {Begin(kRun), End(kRun)})));
  EXPECT_FALSE(Reads(Written(two, {End(kRun), Begin(kRun)})));
  EXPECT_FALSE(Reads(Written({.run = kRun, .messages = 1, .back = true}, {Begin(kRun)})));
  EXPECT_FALSE(Reads(Written({.run = kRun}, {})));
  EXPECT_TRUE(Reads(Written({.run = kRun, .back = true, .lost = true, .lost_after = 6}, {})));
  EXPECT_FALSE(Reads(Written({.run = kRun, .back = true, .lost = true, .lost_after = 7}, {})));
  EXPECT_FALSE(Reads(Written({.run = kRun, .lost = true, .lost_after = 3}, {})));
  // Each bit of the header but those of run, number and total, and each length that is too short.
  const Bytes good = Written(two, {Begin(kRun), End(kRun)});
  for (int bit = 0; bit < (kEthernetBytes + 8) * 8; ++bit) {
    if (bit / 8 >= 6 && bit / 8 < 12) continue;  // the sender's address
    Bytes bad = good;
    bad.at[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_FALSE(Reads(bad)) << "bit " << bit;
  }
  for (int length = 0; length < good.length; ++length) {
    Bytes bad = good;
    bad.length = length;
    EXPECT_FALSE(Reads(bad)) << length << " bytes";
  }
}

struct Sent {
  ProgramFrame frame;
  std::vector<Message> messages;
};

// Two passes, of three frames and of one.
std::vector<Sent> TwoPasses(uint64_t run, bool back) {
  MessageSender sender;
  sender.Begin(run);
  std::vector<Sent> all;
  const auto send = [&](std::vector<Message> messages) {
    const ProgramFrame frame =
        sender.FrameFor(messages.data(), static_cast<int>(messages.size()), back);
    sender.Sent(frame, messages.data());
    all.push_back({frame, std::move(messages)});
  };
  const Message m{.row = 1};
  send(back ? std::vector<Message>{m, m} : std::vector<Message>{Begin(run), m, m});
  send({m, m, m});
  send({m, End(run)});
  send(back ? std::vector<Message>{m, End(run)} : std::vector<Message>{Begin(run), m, End(run)});
  EXPECT_EQ(all[2].frame.total, 6u);
  EXPECT_EQ(all[3].frame.total, 1u);
  return all;
}

// What a receiver makes of frames: the messages it took, and whether it knows of a loss.
struct Made {
  std::vector<uint32_t> passes;  // messages of each pass that ended
  bool lost = false;
  int foreign = 0, again = 0;
};
Made Receive(MessageReceiver& receiver, const std::vector<Sent>& frames) {
  Made made;
  for (const Sent& sent : frames) {
    const Verdict verdict = receiver.Take(sent.frame, sent.messages.data());
    made.lost = made.lost || verdict == Verdict::kLost;
    made.foreign += verdict == Verdict::kForeign;
    made.again += verdict == Verdict::kAgain;
    if (verdict == Verdict::kTake && sent.messages.back().marker == Marker::kEnd) {
      made.passes.push_back(receiver.total());
    }
  }
  return made;
}
MessageReceiver Receiver(bool back) {
  MessageReceiver receiver(!back, 32);
  if (back) receiver.Begin(kRun);
  return receiver;
}

TEST(MessageStream, WhateverHappensToAFrameAPassComesWholeOrIsKnownToBeLost) {
  const std::vector<uint32_t> whole = {6, 1};
  for (const bool back : {false, true}) {
    const std::vector<Sent> frames = TwoPasses(kRun, back);
    MessageReceiver all = Receiver(back);
    EXPECT_EQ(Receive(all, frames).passes, whole);
    for (size_t k = 0; k < frames.size(); ++k) {
      SCOPED_TRACE(testing::Message() << "frame " << k << (back ? " back" : " forward"));
      std::vector<Sent> lossy = frames;
      lossy.erase(lossy.begin() + static_cast<ptrdiff_t>(k));
      MessageReceiver without = Receiver(back);
      const Made lost = Receive(without, lossy);
      // Nothing came after the last one; before the first one nobody has begun the run.
      if (k + 1 < frames.size()) {
        EXPECT_TRUE(lost.lost || (!back && k == 0 && lost.foreign == 3));
      }
      for (size_t p = 0; p < lost.passes.size(); ++p) EXPECT_EQ(lost.passes[p], whole[p]);
      std::vector<Sent> doubled = frames;
      doubled.insert(doubled.begin() + static_cast<ptrdiff_t>(k), frames[k]);
      doubled.push_back(frames[k]);
      MessageReceiver twice = Receiver(back);
      const Made again = Receive(twice, doubled);
      EXPECT_EQ(again.passes, whole);
      EXPECT_EQ(again.again, 2);
      EXPECT_FALSE(again.lost);
      if (k + 1 == frames.size()) continue;
      std::vector<Sent> swapped = frames;
      std::swap(swapped[k], swapped[k + 1]);
      MessageReceiver late = Receiver(back);
      const Made made = Receive(late, swapped);
      EXPECT_TRUE(made.lost || made.foreign > 0);
      EXPECT_LT(made.passes.size(), 2u);
    }
  }
}

// A pass in one frame fits where another one was expected: its count begins anew, so only the
// numbers of frames show what is missing.
TEST(MessageStream, APassThatIsLostWholeIsMissedByTheNumberOfTheNextFrame) {
  for (const bool back : {false, true}) {
    SCOPED_TRACE(back ? "back" : "forward");
    MessageSender sender;
    sender.Begin(kRun);
    std::vector<Sent> passes;
    for (int pass = 0; pass < 3; ++pass) {
      std::vector<Message> messages = {{.row = 1}, End(kRun)};
      if (!back) messages.insert(messages.begin(), Begin(kRun));
      const ProgramFrame frame =
          sender.FrameFor(messages.data(), static_cast<int>(messages.size()), back);
      sender.Sent(frame, messages.data());
      passes.push_back({frame, messages});
      EXPECT_EQ(frame.total, 1u);
    }
    MessageReceiver all = Receiver(back);
    EXPECT_EQ(Receive(all, passes).passes, (std::vector<uint32_t>{1, 1, 1}));
    MessageReceiver receiver = Receiver(back);
    const Made made = Receive(receiver, {passes[0], passes[2]});
    EXPECT_TRUE(made.lost);
    EXPECT_EQ(made.passes, std::vector<uint32_t>{1});
    EXPECT_TRUE(receiver.ended());
    // Nor is the missing one taken if it comes later.
    EXPECT_EQ(Receive(receiver, {passes[1]}).foreign, 1);
  }
}

TEST(MessageStream, StragglersOfARunThatEndedAreForeign) {
  const std::vector<Sent> before = TwoPasses(kRun, false), after = TwoPasses(kRun + 1, false);
  MessageReceiver receiver = Receiver(false);
  EXPECT_EQ(Receive(receiver, {before[0], after[0]}).foreign, 0);
  const Made made = Receive(receiver, {before[0], before[1], after[1], before[2], after[2]});
  EXPECT_EQ(made.foreign, 3);
  EXPECT_EQ(made.passes, std::vector<uint32_t>{6});
  // Another data plane of the inputs has another high half, and begins wherever it likes.
  EXPECT_EQ(Receive(receiver, TwoPasses(uint64_t{5} << 32 | 1, false)).passes,
            (std::vector<uint32_t>{6, 1}));
}

TEST(MessageStream, ACountThatDoesNotFitEndsTheRun) {
  for (const int wrong : {-1, 1}) {
    std::vector<Sent> frames = TwoPasses(kRun, false);
    frames[1].frame.total += static_cast<uint32_t>(wrong);
    MessageReceiver receiver = Receiver(false);
    const Made made = Receive(receiver, frames);
    EXPECT_TRUE(made.lost && made.passes.empty());
    EXPECT_EQ(made.foreign, 2);
  }
  // More than a pass may have.
  MessageReceiver narrow(true, 5);
  EXPECT_TRUE(Receive(narrow, TwoPasses(kRun, false)).lost);
}

TEST(MessageStream, OnlyTheNextNumberOfTheSameDataPlaneGoesOnFromARun) {
  EXPECT_TRUE(IsNext(kRun + 1, kRun));
  EXPECT_FALSE(IsNext(kRun + 2, kRun));
  EXPECT_FALSE(IsNext(kRun, kRun));
  EXPECT_FALSE(IsNext((uint64_t{78} << 32) + 4, kRun));
}

}  // namespace
}  // namespace bfly::dataplane
