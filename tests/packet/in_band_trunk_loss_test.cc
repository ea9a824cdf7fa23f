// SPDX-License-Identifier: Apache-2.0
// What trunks do to programs: frames are lost, doubled, overtaken and forged, and data planes die.
// A program then chooses what it should, or the answer is UNAVAILABLE; it never chooses anything
// else, never hangs, and leaves nothing.
#include <gmock/gmock.h>

#include "dataplane/programs/pass.h"
#include "dataplane/programs/program_frame.h"
#include "tests/packet/split_program_fixture.h"
#include "tests/sanitized.h"

namespace bfly::dataplane {
namespace {

using control::LinkLoad;
using testing::HasSubstr;
using Fate = TrunkCable::Fate;

// A call may take as long as a data plane waits for a message, and a busy machine's time.
constexpr std::chrono::seconds kBound(20);

class TrunkLoss : public testing::Test {
 protected:
  // A pass of 128 messages takes three frames each way.
  static constexpr uint32_t kLossRows = 64;

  static FabricConfig Config() {
    FabricConfig config = OneWorker(NetworkKind::kTwoFoldButterfly, kLossRows);
    config.circuit_capacity = {.every_link = 8, .of_link = {}};
    return config;
  }
  void Build(const std::vector<int>& cuts) {
    split_ = std::make_unique<SplitFabric>(Config(), cuts);
    // Three circuits that must survive everything.
    for (Row input = 0; input < 3; ++input) {
      const auto report = Choose({requests_[input]}, "minimum");
      ASSERT_TRUE(report.ok()) << report.status();
      standing_.push_back(report->paths[0]);
    }
    wanted_.assign(requests_.begin() + 3, requests_.end());
  }
  absl::StatusOr<InBandReport> Choose(const std::vector<InBandRequest>& requests,
                                      const std::string& protocol) {
    const auto begun = std::chrono::steady_clock::now();
    auto report = split_->in_band().SetUp(requests, ProgramOf(protocol, 6));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, kBound);
    return report;
  }
  LinkLoad Standing() const {
    LinkLoad load(split_->network());
    for (const InBandPath& path : standing_) load.Add(path.input, path.tag);
    return load;
  }
  void ExpectOnlyWhatStood() {
    const std::vector<Fabric::Circuit> circuits = split_->first().circuits();
    ASSERT_EQ(circuits.size(), standing_.size());
    for (size_t i = 0; i < circuits.size(); ++i) {
      EXPECT_EQ(circuits[i].input, standing_[i].input);
      EXPECT_EQ(circuits[i].tag, standing_[i].tag);
    }
  }
  // What the controller would choose, or nothing with UNAVAILABLE; says which.
  bool Try(const std::string& protocol) {
    const LinkLoad before = Standing();
    const auto report = Choose(wanted_, protocol);
    if (!report.ok()) {
      EXPECT_EQ(report.status().code(), absl::StatusCode::kUnavailable) << report.status();
      said_ = std::string(report.status().message());
      ExpectOnlyWhatStood();
      return false;
    }
    ExpectPaths(*report, PathsByController(protocol, before, wanted_));
    LinkLoad load = Standing();
    std::vector<Row> inputs;
    for (const InBandPath& path : report->paths) {
      load.Add(path.input, path.tag);
      inputs.push_back(path.input);
    }
    EXPECT_EQ(split_->circuits_on_links(), load.counts());
    for (size_t t = 0; t < cables_; ++t) split_->cable(t).Treat({});
    const absl::Status released = split_->in_band().Release(inputs).status();
    EXPECT_TRUE(released.ok()) << released;
    return true;
  }
  // Nothing is left that would make the next one choose otherwise.
  void ExpectItWorksAgain() {
    for (size_t t = 0; t < cables_; ++t) split_->cable(t).Treat({});
    EXPECT_TRUE(Try("minimum")) << said_;
    EXPECT_TRUE(Try("collision")) << said_;
    ExpectOnlyWhatStood();
    EXPECT_EQ(split_->circuits_on_links(), Standing().counts());
  }

  const std::vector<InBandRequest> requests_ = WholePermutation(kLossRows, 3);
  std::vector<InBandRequest> wanted_;
  std::unique_ptr<SplitFabric> split_;
  std::vector<InBandPath> standing_;
  size_t cables_ = 1;
  std::string said_;
};

TEST_F(TrunkLoss, AnyFrameMayBeLostDoubledOrOvertaken) {
  Build({5});
  int unavailable = 0, right = 0, named = 0;
  for (const Fate fate : {Fate::kDrop, Fate::kTwice, Fate::kLater}) {
    for (const bool back : {false, true}) {
      for (int k = kSanitized ? 2 : 0; k < (kSanitized ? 4 : 6); ++k) {
        SCOPED_TRACE(testing::Message() << "fate " << static_cast<int>(fate) << " of frame " << k
                                        << (back ? " back" : " forward"));
        split_->cable(0).Treat(
            [=](bool is_back, int n) { return is_back == back && n == k ? fate : Fate::kPass; });
        const bool ok = Try("collision");
        ++(ok ? right : unavailable);
        if (!ok && said_.find("lost on trunk cut5, after stage 5") != std::string::npos) ++named;
        EXPECT_TRUE(ok || fate != Fate::kTwice) << said_;
        EXPECT_FALSE(ok && fate == Fate::kDrop);
      }
    }
  }
  ExpectItWorksAgain();
  EXPECT_GT(unavailable, kSanitized ? 3 : 11);
  EXPECT_GT(right, kSanitized ? 3 : 11);
  EXPECT_GT(named, kSanitized ? 1 : 4);
  EXPECT_GT(split_->Dropped(DropReason::kTrunkDuplicate), 0u);
  EXPECT_GT(split_->Dropped(DropReason::kTrunkForeign), 0u);
}

TEST_F(TrunkLoss, ALossOnTheSecondTrunkIsToldOverTheFirst) {
  cables_ = 2;
  Build({3, 7});
  for (const bool back : {false, true}) {
    // The first frame of a pass that has three. After a loss one pass more tells links what stands.
    const int first = back ? 2 : 1;
    split_->cable(1).Treat([=](bool is_back, int n) {
      return is_back == back && n == first ? Fate::kDrop : Fate::kPass;
    });
    EXPECT_FALSE(Try("collision"));
    EXPECT_THAT(said_, HasSubstr("lost on the trunk after stage 7"));
  }
  ExpectItWorksAgain();
}

// In the installing pass some links count and some do not, and some circuits follow their paths.
TEST_F(TrunkLoss, WhatWasInstalledInPartIsTakenBack) {
  Build({5});
  split_->cable(0).Treat({});
  ASSERT_TRUE(Choose(wanted_, "collision").ok());
  const int frames = split_->cable(0).frames(/*back=*/true);
  std::vector<Row> inputs;
  for (const InBandRequest& request : wanted_) inputs.push_back(request.input);
  ASSERT_TRUE(split_->in_band().Release(inputs).ok());
  for (int from_the_end = 1; from_the_end <= 2; ++from_the_end) {
    split_->cable(0).Treat([=](bool back, int n) {
      return back && n == frames - from_the_end ? Fate::kDrop : Fate::kPass;
    });
    EXPECT_FALSE(Try("collision"));
  }
  ExpectItWorksAgain();
}

TEST_F(TrunkLoss, ADataPlaneThatDiesBetweenTwoPassesIsMissedAndMayComeBack) {
  Build({5});
  for (const std::string protocol : {"collision", "minimum"}) {
    SCOPED_TRACE(protocol);
    // After the opening pass, and the first frame of the next one is lost with all that follow.
    split_->cable(0).Treat(
        [](bool back, int n) { return !back && n == 1 ? Fate::kCut : Fate::kPass; });
    EXPECT_FALSE(Try(protocol));
    EXPECT_THAT(said_, HasSubstr("for 2 s no message came back over trunk cut5, after stage 5"));
    split_->Unload(1);
    EXPECT_FALSE(Try(protocol));
    ExpectOnlyWhatStood();
    split_->Load(1);
    ExpectItWorksAgain();
  }
}

// The data plane behind is another one than before, and knows of no circuit.
TEST_F(TrunkLoss, ADataPlaneThatWasStartedAnewCountsWhatStands) {
  Build({5});
  split_->Unload(1);
  split_->Load(1);
  ExpectItWorksAgain();
}

TEST_F(TrunkLoss, ForgedFramesAreDroppedAndCounted) {
  Build({5});
  FrameSource frames;
  const ProgramFrameRules rules = ProgramFrameRules::Of(split_->network(), 5, 1518, PassCount());
  const auto forge = [&](int end, const ProgramFrame& frame, std::vector<Message> messages,
                         int damaged = -1) {
    uint8_t bytes[kLongestProgramFrame];
    const int length = WriteProgramFrame(frame, rules, messages.data(), bytes);
    if (damaged >= 0) bytes[damaged] ^= 0x40;
    rte_mbuf* mbuf = frames.Make(0, 0, 0, static_cast<uint16_t>(length));
    ASSERT_NE(mbuf, nullptr);
    std::memcpy(rte_pktmbuf_mtod(mbuf, uint8_t*), bytes, static_cast<size_t>(length));
    split_->cable(0).Forge(end, mbuf);
  };
  const Message end_of_9{.slot = 9, .marker = Marker::kEnd};
  const Message begin{.tag = 9, .marker = Marker::kBegin};
  // To the data plane behind: of a run that nobody began, a pass that does not exist, a row and a
  // tag outside, a damaged header, an answer, news of a loss.
  forge(1, {.run = 9, .number = 1, .messages = 1}, {end_of_9});
  forge(1, {.run = 9, .messages = 1}, {{.tag = 9, .slot = 99, .marker = Marker::kBegin}});
  forge(1, {.run = 9, .total = 1, .messages = 2}, {begin, {.row = kLossRows}});
  forge(1, {.run = 9, .total = 1, .messages = 2}, {begin, {.tag = Tag{1} << 12}});
  for (const int byte : {14, 16, 17, 18, 21}) forge(1, {.run = 9, .messages = 1}, {begin}, byte);
  forge(1, {.run = 9, .messages = 1, .back = true}, {end_of_9});
  forge(1, {.run = 9, .back = true, .lost = true, .lost_after = 5}, {});
  WaitUntil(split_->part(1), [](const Snapshot& s) {
    return DroppedBy(s, DropReason::kBadHeader) >= 10 &&
           DroppedBy(s, DropReason::kTrunkForeign) >= 1;
  });
  // To the inputs: answers that nobody asked for.
  forge(0, {.run = 9, .messages = 1, .back = true}, {end_of_9});
  forge(0, {.run = 9, .back = true, .lost = true, .lost_after = 5}, {});
  forge(0, {.run = 9, .total = 1, .messages = 1, .back = true}, {{.slot = 1u << 30}});
  ExpectItWorksAgain();
  EXPECT_GE(DroppedBy(split_->first().snapshot(), DropReason::kTrunkForeign), 3u);
  ExpectConserved(split_->first().snapshot());
  ExpectConserved(split_->part(1).snapshot());
  // One that begins a run of somebody else takes no part in ours: at most it is missed once.
  forge(1, {.run = uint64_t{9} << 32 | 1, .messages = 1},
        {{.tag = uint64_t{9} << 32 | 1, .marker = Marker::kBegin}});
  ExpectItWorksAgain();
}

}  // namespace
}  // namespace bfly::dataplane
