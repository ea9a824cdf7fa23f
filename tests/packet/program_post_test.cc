// SPDX-License-Identifier: Apache-2.0
// How long a caller waits for a program, and what the next caller gets. The worker is the test's.
#include "dataplane/in_band/program_post.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "dataplane/programs/given_paths.h"

namespace bfly::dataplane {
namespace {

using testing::HasSubstr;

uint64_t Tick() {
  static std::atomic<uint64_t> ticks{0};
  return ++ticks;
}

// A network without stages: what the inputs send is at the outputs.
class ProgramPostTest : public testing::Test {
 protected:
  ProgramPostTest() {
    InBandPart part;
    part.inputs = &inputs_;
    part.outputs = &outputs_;
    worker_.AddPart(part);
  }
  // Three messages there and back.
  static std::unique_ptr<Program> Walk() {
    return std::make_unique<GivenPaths>(kWalkPass, std::vector<TaggedPath>(3));
  }

  InputNodes inputs_{&Tick};
  OutputNodes outputs_{&Tick, 4};
  ProgramPost post_;
  InBandWorker worker_{post_.orders()};
};

TEST_F(ProgramPostTest, ACallerWaitsUntilTheWorkerHasEndedTheProgram) {
  std::atomic<bool> stop{false};
  std::thread lcore([&] {
    while (!stop) worker_.Run();
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(post_.CheckReady().ok());
    EXPECT_TRUE(post_.Run(Walk()).ok());
  }
  stop = true;
  lcore.join();
  EXPECT_EQ(inputs_.sent(), 300u);
  EXPECT_EQ(inputs_.returned(), 300u);
}

TEST_F(ProgramPostTest, AProgramThatNoWorkerMovesIsGivenUpAndKeepsOthersOutUntilItHasEnded) {
  const absl::Status late = post_.Run(Walk());
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()), HasSubstr("no worker moved a message for 5 s"));
  const absl::Status second = post_.CheckReady();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()), HasSubstr("has not ended"));
  // The worker comes back.
  for (int pass = 0; pass < 10; ++pass) worker_.Run();
  EXPECT_TRUE(post_.CheckReady().ok());
  EXPECT_EQ(inputs_.returned(), 3u);
}

TEST_F(ProgramPostTest, UnloadingEndsTheWait) {
  std::thread unloads([&] {
    while (post_.orders().posted.load() == nullptr) std::this_thread::yield();
    post_.Stop();
  });
  const absl::Status status = post_.Run(Walk());
  unloads.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("unloaded"));
  EXPECT_EQ(post_.CheckReady().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace bfly::dataplane
