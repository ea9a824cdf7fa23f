// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "control/cli/daemon.h"
#include "control/server/address.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Daemon : public testing::Test {
 protected:
  Daemon() : run_dir_(testing::TempDir() + "bfly-daemon-" + std::to_string(getpid())) {
    std::filesystem::create_directories(run_dir_);
  }
  ~Daemon() override {
    for (const std::string& name : DaemonNames(run_dir_))
      StopDaemon(Files(name), std::chrono::seconds(0));
    std::filesystem::remove_all(run_dir_);
  }
  DaemonFiles Files(const std::string& name) const { return {.run_dir = run_dir_, .name = name}; }

  const std::string run_dir_;
};

// Polls instead of sleeping: the machine may be busy.
bool Becomes(const std::function<bool()>& condition) {
  for (int i = 0; i < 1500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

TEST_F(Daemon, RunsInASessionOfItsOwnAndWritesItsLog) {
  const auto pid = StartDaemon(
      Files("a"), {.command = {"/bin/sh", "-c", "echo hello; echo world >&2; exec sleep 1000"},
                   .network_namespace = ""});
  ASSERT_TRUE(pid.ok()) << pid.status();
  EXPECT_EQ(RunningDaemon(Files("a")), *pid);
  EXPECT_EQ(getsid(*pid), *pid);
  EXPECT_TRUE(Becomes([this] { return LogTail(Files("a"), 9) == "    hello\n    world\n"; }));
  EXPECT_THAT(DaemonNames(run_dir_), ElementsAre("a"));
}

TEST_F(Daemon, ServesOnlyOnceItsSocketListens) {
  const std::string path = Files("a").socket();
  EXPECT_FALSE(SomebodyAnswers(path));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_FALSE(SomebodyAnswers(path));
  ASSERT_EQ(listen(fd, 1), 0);
  EXPECT_TRUE(SomebodyAnswers(path));
  // More callers than the socket lets wait are still somebody's callers.
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(SomebodyAnswers(path));
  close(fd);
  EXPECT_FALSE(SomebodyAnswers(path));
  EXPECT_FALSE(SomebodyAnswers(std::string(sizeof(address.sun_path), 'x')));
}

TEST_F(Daemon, ADeadDaemonsSocketGoesUnlessAnotherProcessServesThere) {
  for (const bool served : {false, true}) {
    const auto pid = StartDaemon(Files("a"), {.command = {"/bin/true"}, .network_namespace = ""});
    ASSERT_TRUE(pid.ok()) << pid.status();
    ASSERT_TRUE(Becomes([this] { return RunningDaemon(Files("a")) == 0; }));
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    ASSERT_LT(Files("a").socket().size(), sizeof(address.sun_path));
    Files("a").socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    if (served) {
      ASSERT_EQ(listen(listener, 1), 0);
    }
    StopDaemon(Files("a"), std::chrono::seconds(0));
    EXPECT_EQ(std::filesystem::exists(Files("a").socket()), served);
    close(listener);
  }
}

TEST_F(Daemon, StopsOnSigtermAndLeavesNeitherPidFileNorProcess) {
  const auto pid =
      StartDaemon(Files("a"), {.command = {"/bin/sleep", "1000"}, .network_namespace = ""});
  ASSERT_TRUE(pid.ok()) << pid.status();
  EXPECT_EQ(StopDaemon(Files("a"), std::chrono::seconds(30)), DaemonEnd::kAsAsked);
  waitpid(*pid, nullptr, 0);  // this process is its parent, and StopDaemon need not have asked
  EXPECT_NE(kill(*pid, 0), 0);
  EXPECT_THAT(DaemonNames(run_dir_), IsEmpty());
}

TEST_F(Daemon, IsKilledWhenItIgnoresSigterm) {
  const auto pid = StartDaemon(
      Files("a"),
      {.command = {"/bin/sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"},
       .network_namespace = ""});
  ASSERT_TRUE(pid.ok()) << pid.status();
  ASSERT_TRUE(Becomes([this] { return LogTail(Files("a"), 1) == "    deaf\n"; }));
  EXPECT_EQ(StopDaemon(Files("a"), std::chrono::milliseconds(100)), DaemonEnd::kKilled);
  EXPECT_EQ(RunningDaemon(Files("a")), 0);
}

TEST_F(Daemon, AnotherProcessWithThePidOfTheFileIsNotOurs) {
  // This process, but with another start time.
  std::ofstream(Files("a").pid_file()) << getpid() << " 1\n";
  EXPECT_EQ(RunningDaemon(Files("a")), 0);
  // And this process lives on.
  EXPECT_EQ(StopDaemon(Files("a"), std::chrono::seconds(1)), DaemonEnd::kAsAsked);
  EXPECT_THAT(DaemonNames(run_dir_), IsEmpty());
}

TEST_F(Daemon, OneThatEndedByItselfRunsNoMore) {
  const auto pid = StartDaemon(Files("a"), {.command = {"/bin/true"}, .network_namespace = ""});
  ASSERT_TRUE(pid.ok()) << pid.status();
  EXPECT_TRUE(Becomes([this] { return RunningDaemon(Files("a")) == 0; }));
}

TEST_F(Daemon, SaysWhyItCannotBeStarted) {
  const auto no_program =
      StartDaemon(Files("a"), {.command = {run_dir_ + "/nothing"}, .network_namespace = ""});
  EXPECT_THAT(std::string(no_program.status().message()), HasSubstr("No such file"));
  const auto no_namespace = StartDaemon(
      Files("a"), {.command = {"/bin/true"}, .network_namespace = "bfly-no-such-namespace"});
  EXPECT_THAT(std::string(no_namespace.status().message()),
              HasSubstr("ip netns add bfly-no-such-namespace"));
  EXPECT_THAT(DaemonNames(run_dir_), IsEmpty());
}

TEST_F(Daemon, APidFileOfNonsenseIsNoProcess) {
  std::ofstream(Files("a").pid_file()) << "-1 x\n";
  EXPECT_EQ(RunningDaemon(Files("a")), 0);
  std::ofstream(Files("b").pid_file()) << "";
  EXPECT_EQ(RunningDaemon(Files("b")), 0);
}

TEST_F(Daemon, TheLogTailIsTheLastLines) {
  std::ofstream log(Files("a").log());
  for (int i = 1; i <= 100; ++i) log << "line " << i << "\n";
  log.close();
  EXPECT_EQ(LogTail(Files("a"), 2), "    line 99\n    line 100\n");
}

TEST_F(Daemon, TheRunDirectoryIsLockedForOneAtATime) {
  {
    const auto first = RunDirLock::Take(run_dir_);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(RunDirLock::Take(run_dir_).status().code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_TRUE(RunDirLock::Take(run_dir_).ok());
}

}  // namespace
}  // namespace bfly::control
