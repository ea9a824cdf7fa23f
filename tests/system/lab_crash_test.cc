// SPDX-License-Identifier: Apache-2.0
// A lab is killed between any two of its effects, and removed by its journal: nothing of it is
// left, and everything of others is. Needs root.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "control/lab/interfaces.h"
#include "control/lab/lab.h"

namespace bfly::control {
namespace {

using testing::IsEmpty;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Interfaces that a process sees, from /proc and not by the code under test.
std::set<std::string> InterfacesOf(pid_t pid) {
  std::istringstream lines(ReadAll("/proc/" + std::to_string(pid) + "/net/dev"));
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos)
      names.insert(line.substr(line.find_first_not_of(' '), colon - line.find_first_not_of(' ')));
  }
  return names;
}

std::set<std::string> Names() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns")) {
    names.insert(entry.path().filename());
  }
  return names;
}

int MountsOfNames() {
  std::istringstream lines(ReadAll("/proc/self/mounts"));
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    count += line.find(" /run/netns/") != std::string::npos;
  }
  return count;
}

class LabCrash : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    // What stands in /run/netns is this test's own, and the lab's port is in a namespace of its own
    // too, so that nothing of the machine is touched.
    ASSERT_EQ(unshare(CLONE_NEWNS | CLONE_NEWNET), 0);
    ASSERT_EQ(mount("", "/", "none", MS_PRIVATE | MS_REC, nullptr), 0);
    std::filesystem::create_directories("/run/netns");
    ASSERT_EQ(mount("lab-crash", "/run/netns", "tmpfs", 0, nullptr), 0);
    ASSERT_TRUE(PrepareNames().ok());
    char folder[] = "/tmp/bfly-lab-crash-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    run_dir_ = folder;
    container_ = StartContainer();
    // Some kernels have more than "lo" in a new namespace.
    here_before_ = InterfacesOf(getpid());
    container_before_ = InterfacesOf(container_);
    plan_ = PlanOf(container_);
  }

  void TearDown() override {
    if (container_ > 0) {
      kill(container_, SIGKILL);
      waitpid(container_, nullptr, 0);
    }
    if (!run_dir_.empty()) {
      umount2("/run/netns", MNT_DETACH);
      std::filesystem::remove_all(run_dir_);
    }
  }

  static pid_t StartContainer() {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (unshare(CLONE_NEWNET) == 0) (void)!write(ready[1], "", 1);
      for (;;) pause();
    }
    close(ready[1]);
    char word = 0;
    EXPECT_EQ(read(ready[0], &word, 1), 1);
    close(ready[0]);
    return pid;
  }

  static LabPlan PlanOf(pid_t container) {
    LabPlan plan;
    plan.name = "crash";
    plan.namespaces = {{"crash-fabric", "f", false}, {"crash-a", "hosts[0].name", false}};
    plan.fabric = NamespaceRef::Named("crash-fabric");
    plan.links.push_back({.field = "hosts[0]",
                          .port_namespace = NamespaceRef::Named("crash-fabric"),
                          .port_interface = "bf0",
                          .host_namespace = NamespaceRef::Named("crash-a"),
                          .host_interface = "eth0",
                          .host_mac = "02:bf:00:00:00:00",
                          .mtu = 1500,
                          .queues = 1,
                          .ipv6 = false,
                          .addresses = {"10.0.0.1/24"},
                          .routes = {{"default", "10.0.0.2"}}});
    // The port of this one is where the test itself runs.
    plan.links.push_back({.field = "hosts[1]",
                          .port_namespace = {},
                          .port_interface = "bf1",
                          .host_namespace = NamespaceRef::OfProcess(container),
                          .host_interface = "eth1",
                          .host_mac = "02:bf:00:00:00:01",
                          .mtu = 1400,
                          .queues = 2,
                          .ipv6 = true,
                          .addresses = {"fd00::1/64"},
                          .routes = {}});
    return plan;
  }

  // Returns true if it was killed at its effect number `at`, false if it ended before.
  bool MakeAndDie(int at) const {
    const pid_t pid = fork();
    if (pid == 0) {
      int effects = 0;
      const auto made = MakeLab(plan_, run_dir_, [&] {
        if (effects++ == at) raise(SIGKILL);
      });
      _exit(made.ok() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) return true;
    EXPECT_EQ(WEXITSTATUS(status), 0);
    return false;
  }

  void Remove() const {
    const auto record = LabJournal::Read(run_dir_);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_THAT(RemoveLab(*record).errors, IsEmpty());
    EXPECT_TRUE(LabJournal::Remove(run_dir_).ok());
  }

  // Nothing but what `others` have.
  void NothingIsLeft(const std::set<std::string>& others = {}) const {
    EXPECT_EQ(Names(), others);
    EXPECT_EQ(MountsOfNames(), static_cast<int>(others.size()));
    EXPECT_EQ(InterfacesOf(getpid()), here_before_);
    EXPECT_EQ(InterfacesOf(container_), container_before_);
    EXPECT_TRUE(std::filesystem::is_empty(run_dir_));
  }

  std::string run_dir_;
  std::set<std::string> here_before_, container_before_;
  pid_t container_ = -1;
  LabPlan plan_;
};

TEST_F(LabCrash, AtAnyMomentTheJournalNamesWhatIsThere) {
  int at = 0;
  std::set<size_t> seen;
  while (MakeAndDie(at)) {
    SCOPED_TRACE(at);
    seen.insert(Names().size() + InterfacesOf(getpid()).size() + InterfacesOf(container_).size());
    Remove();
    NothingIsLeft();
    ASSERT_LT(++at, 100);
  }
  // The head; two names in four effects each; two links in two, and one for every address and route
  // and the end.
  EXPECT_EQ(at, 1 + 2 * 4 + (2 + 3) + (2 + 2));
  EXPECT_GE(seen.size(), 4u) << "it was killed while there was more and more to remove";
  EXPECT_EQ(Names(), (std::set<std::string>{"crash-a", "crash-fabric"}));
  EXPECT_TRUE(InterfacesOf(container_).contains("eth1"));
  Remove();
  NothingIsLeft();
}

TEST_F(LabCrash, RemovingIsDoneAgainAfterACrash) {
  ASSERT_FALSE(MakeAndDie(1000));
  const auto record = LabJournal::Read(run_dir_);
  ASSERT_TRUE(record.ok());
  // The first half was removed before the crash, and all of it after it.
  EXPECT_TRUE(*RemoveName("crash-a", record->namespaces[1].cookie, record->mark));
  EXPECT_FALSE(*RemoveName("crash-a", record->namespaces[1].cookie, record->mark));
  Remove();
  NothingIsLeft();
}

TEST_F(LabCrash, WhatOthersMadeOfTheSameNameStays) {
  const auto theirs = NetNamespace::Make();
  ASSERT_TRUE(theirs.ok());
  // The first namespace is in the journal, and has no name yet.
  ASSERT_TRUE(MakeAndDie(1));
  ASSERT_TRUE(NameNamespace(*theirs, "crash-fabric", "theirs", [] {}).ok());
  Remove();
  EXPECT_EQ(ReadAll("/run/netns/crash-fabric"), "") << "it is a namespace, not a file";
  NothingIsLeft({"crash-fabric"});
  // A file of that name that is no namespace.
  ASSERT_EQ(umount2("/run/netns/crash-fabric", MNT_DETACH), 0);
  std::ofstream("/run/netns/crash-fabric") << "not a mark";
  ASSERT_FALSE(MakeLab(plan_, run_dir_).ok());
  Remove();
  EXPECT_EQ(Names(), (std::set<std::string>{"crash-fabric"}));
}

TEST_F(LabCrash, WhatCannotBeLookedAtIsNotForgotten) {
  ASSERT_FALSE(MakeAndDie(1000));
  const auto record = LabJournal::Read(run_dir_);
  ASSERT_TRUE(record.ok());
  const LabHost host{.name = "a",
                     .kind = "namespace",
                     .rows = "0",
                     .has_namespace = true,
                     .where = NamespaceRef::Named("crash-a"),
                     .interface = "eth0",
                     .port = "bf0",
                     .addresses = {}};
  ASSERT_EQ(StateOf(host, *record), "up");
  const int next = dup(STDIN_FILENO);
  close(next);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // No file more, and one more, which is the namespace but no socket in it.
  for (const int more : {0, 1}) {
    rlimit few = before;
    few.rlim_cur = next + more;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const Removal removal = RemoveLab(*record);
    const std::string state = StateOf(host, *record);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_THAT(removal.errors, testing::SizeIs(2 + 2)) << "two links and two namespaces";
    EXPECT_EQ(removal.namespaces + removal.links, 0);
    EXPECT_EQ(state, "not known");
  }
  EXPECT_EQ(Names(), (std::set<std::string>{"crash-a", "crash-fabric"}));
  Remove();
  NothingIsLeft();
}

TEST_F(LabCrash, AnInterfaceOfTheSameNameAndAddressesStays) {
  // The second link is in the journal, and not yet made.
  ASSERT_TRUE(MakeAndDie(1 + 2 * 4 + 5));
  const auto here = NetNamespace::Open({});
  const auto container = NetNamespace::Open(NamespaceRef::OfProcess(container_));
  ASSERT_TRUE(here.ok() && container.ok());
  auto links = Interfaces::Of(*here);
  ASSERT_TRUE(links.ok());
  ASSERT_TRUE(links
                  ->MakeVeth({"bf1", "06:00:00:00:00:99"}, {"eth1", "02:bf:00:00:00:01"},
                             *container, 1500, 1)
                  .ok());
  Remove();
  EXPECT_EQ(Names(), std::set<std::string>{});
  EXPECT_TRUE(InterfacesOf(getpid()).contains("bf1"));
  EXPECT_TRUE(InterfacesOf(container_).contains("eth1"));
  EXPECT_THAT(CheckMachine(plan_), testing::SizeIs(2)) << "both ends are taken";
}

TEST_F(LabCrash, AfterARebootNothingOfItIsThere) {
  ASSERT_FALSE(MakeAndDie(1000));
  auto record = LabJournal::Read(run_dir_);
  ASSERT_TRUE(record.ok());
  // As if Linux had been started since: things with these numbers belong to somebody else.
  const std::string boot = record->boot;
  record->boot = "another";
  const Removal removal = RemoveLab(*record);
  EXPECT_THAT(removal.errors, IsEmpty());
  EXPECT_EQ(removal.namespaces + removal.links, 0);
  EXPECT_EQ(Names(), (std::set<std::string>{"crash-a", "crash-fabric"}));
  EXPECT_TRUE(InterfacesOf(container_).contains("eth1"));
  // A file in /run/netns outlives a reboot where /run is on a disk.
  ASSERT_EQ(umount2("/run/netns/crash-a", MNT_DETACH), 0);
  EXPECT_EQ(RemoveLab(*record).namespaces, 1);
  EXPECT_EQ(Names(), std::set<std::string>{"crash-fabric"});
  Remove();
  NothingIsLeft();
}

}  // namespace
}  // namespace bfly::control
