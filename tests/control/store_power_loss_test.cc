// SPDX-License-Identifier: Apache-2.0
// The power fails at any write of the store. After that it holds what it held after the last call
// that had returned, or what it holds after the call that was cut off; nothing else.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "control/store/sqlite_store.h"
#include "tests/control/power_loss_disk.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

constexpr int kCalls = 40;
constexpr int kCuts = 40;
constexpr int64_t kNever = int64_t{1} << 60;

// What the store must hold, kept in plain containers.
struct Model {
  std::string fabric;
  std::string state;
  std::map<uint32_t, std::string> circuits;
  std::vector<std::string> placements;
  size_t before_last = 0;  // placements before the last Append
  bool has_file = false;
  std::shared_ptr<const Model> aside = nullptr;  // what was set aside last

  bool SameAs(const std::optional<KeptFabric>& found) const {
    const bool nothing = state.empty() && circuits.empty() && placements.empty();
    if (nothing || !found) return nothing && !found;
    std::vector<std::string> by_input;
    for (const auto& [input, bytes] : circuits) by_input.push_back(bytes);
    return found->fabric == fabric && found->state == state && found->circuits == by_input &&
           found->placements == placements;
  }
};

// Random calls, the same for the same seed. Each goes to the model and, if there is one, the store.
class Calls {
 public:
  Calls(uint64_t seed, Store* store) : random_(seed), store_(store) { Begin(); }

  void Next() {
    if (++count_ % 15 == 0) return Begin();
    switch (random_() % 16) {
      case 0:
        return Begin();
      case 1:
        return TakeBack();
      case 2:
        return KeepLast();
      case 3:
      case 4:
      case 5:
        return Append();
      default:
        return Keep();
    }
  }
  const Model& model() const { return model_; }

 private:
  void Require(const absl::Status& status) {
    if (!status.ok()) {
      fprintf(stderr, "%s\n", status.ToString().c_str());
      _exit(1);
    }
  }
  // Mostly short; some fill so many pages that the log is written back into the file.
  std::string Bytes() {
    return std::string(random_() % (random_() % 8 == 0 ? 200'000 : 300),
                       static_cast<char>('a' + random_() % 26));
  }
  void Begin() {
    const std::string fabric = Bytes() + "f";
    const std::string state = random_() % 4 == 0 ? "" : Bytes() + "s";
    const bool set_aside = random_() % 2 == 0;
    std::shared_ptr<const Model> aside = model_.aside;
    if (set_aside && model_.has_file) aside = std::make_shared<const Model>(model_);
    model_ = {};
    model_.fabric = fabric;
    model_.state = state;
    model_.has_file = !state.empty();
    model_.aside = std::move(aside);
    may_take_back_ = false;
    if (store_ != nullptr) Require(store_->Begin(fabric, state, set_aside));
  }
  void Append() {
    std::vector<std::string> more(1 + random_() % 3);
    for (std::string& one : more) one = Bytes() + "p";
    model_.has_file = true;
    model_.before_last = model_.placements.size();
    model_.placements.insert(model_.placements.end(), more.begin(), more.end());
    may_take_back_ = true;
    if (store_ != nullptr) Require(store_->Append(more));
  }
  void TakeBack() {
    if (!std::exchange(may_take_back_, false)) return;
    model_.placements.resize(model_.before_last);
    if (store_ != nullptr) Require(store_->TakeBack());
  }
  void KeepLast() {
    if (!std::exchange(may_take_back_, false)) return;
    model_.placements.erase(model_.placements.begin(),
                            model_.placements.begin() + static_cast<ptrdiff_t>(model_.before_last));
    if (store_ != nullptr) Require(store_->KeepLast());
  }
  void Keep() {
    KeptChange change{.state = Bytes() + "s", .forget_circuits = random_() % 8 == 0};
    if (change.forget_circuits) model_.circuits.clear();
    for (uint32_t i = random_() % 20; i > 0; --i) {
      const auto input = static_cast<uint32_t>(random_() % 50);
      const std::string bytes = random_() % 3 == 0 ? "" : Bytes() + "c";
      change.circuits.emplace_back(input, bytes);
      if (bytes.empty()) {
        model_.circuits.erase(input);
      } else {
        model_.circuits[input] = bytes;
      }
    }
    model_.has_file = true;
    model_.state = change.state;
    if (store_ != nullptr) Require(store_->Keep(change));
  }

  std::mt19937_64 random_;
  Store* const store_;
  Model model_;
  bool may_take_back_ = false;
  int count_ = 0;
};

// What the process that loses its power tells the one that looks at its disk.
struct Told {
  int begun = 0;
  int returned = 0;
  std::array<int64_t, kCalls + 1> steps_after = {};  // by calls that have returned
};

class StorePowerLoss : public testing::TestWithParam<uint64_t> {
 protected:
  StorePowerLoss()
      : told_(new (mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0)) Told) {}
  ~StorePowerLoss() override { munmap(told_, sizeof(Told)); }

  // Runs the calls of the seed on a disk that fails before step `cut`. Returns the exit code.
  int Run(const std::string& path, int64_t cut) {
    *told_ = {};
    const pid_t child = fork();
    if (child == 0) {
      UseDiskThatLosesPower(cut, GetParam() + static_cast<uint64_t>(cut));
      SqliteStore store(path);
      told_->begun = 1;
      Calls calls(GetParam(), &store);
      while (true) {
        told_->steps_after[static_cast<size_t>(++told_->returned)] = StepsOfDisk();
        if (told_->begun == kCalls) _exit(0);
        ++told_->begun;
        calls.Next();
      }
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  Model After(int calls) {
    if (calls == 0) return {};
    Calls plain(GetParam(), nullptr);
    for (int i = 1; i < calls; ++i) plain.Next();
    return plain.model();
  }

  Told* const told_;
};

TEST_P(StorePowerLoss, LeavesTheOldStateOrTheNewOne) {
  std::array<int64_t, kCalls + 1> steps_after;
  {
    const TemporaryFolder folder;
    ASSERT_EQ(Run(folder / "intent.db", kNever), 0);
    steps_after = told_->steps_after;
    const auto found = SqliteStore(folder / "intent.db").Read();
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(After(kCalls).SameAs(*found));
  }
  const int64_t steps = steps_after[kCalls];
  ASSERT_GT(steps, 1000);
  std::mt19937_64 random(GetParam());
  std::vector<size_t> begins;  // calls, but for the first
  for (size_t call = 2; call <= kCalls; ++call) {
    const int number = static_cast<int>(call);
    if (After(number).fabric != After(number - 1).fabric) begins.push_back(call);
  }
  int old_states = 0, new_states = 0;
  for (int trial = 0; trial < kCuts; ++trial) {
    auto cut = static_cast<int64_t>(random() % static_cast<uint64_t>(steps));
    // Half of them just before a call returns, where the new state comes to the disk.
    if (trial % 2 == 0) {
      cut = std::max<int64_t>(
          0, steps_after[1 + random() % kCalls] - 1 - static_cast<int64_t>(random() % 3));
    }
    // A quarter of them while one fabric takes the place of another.
    if (trial % 4 == 1) {
      const size_t call = begins[random() % begins.size()];
      cut = steps_after[call - 1] +
            static_cast<int64_t>(random() %
                                 static_cast<uint64_t>(steps_after[call] - steps_after[call - 1]));
    }
    SCOPED_TRACE(testing::Message() << "cut before step " << cut << " of " << steps);
    const TemporaryFolder folder;
    ASSERT_EQ(Run(folder / "intent.db", cut), kPowerLost);
    SqliteStore store(folder / "intent.db");
    const auto found = store.Read();
    ASSERT_TRUE(found.ok()) << found.status();
    const Model after = After(told_->begun);
    const bool is_new = after.SameAs(*found);
    const bool is_old = After(told_->returned).SameAs(*found);
    EXPECT_TRUE(is_old || is_new) << "call " << told_->begun;
    if (is_new && after.aside != nullptr) {
      const auto aside = SqliteStore(store.aside()).Read();
      ASSERT_TRUE(aside.ok()) << aside.status();
      EXPECT_TRUE(after.aside->SameAs(*aside)) << "what was set aside";
    }
    old_states += is_old && !is_new;
    new_states += is_new && !is_old;
    // What follows is not disturbed by what the power left behind.
    ASSERT_TRUE(store.Begin("next").ok());
    ASSERT_TRUE(store.Append({"one"}).ok());
    const auto next = SqliteStore(folder / "intent.db").Read();
    ASSERT_TRUE(next.ok() && next->has_value()) << next.status();
    EXPECT_EQ((*next)->fabric, "next");
    EXPECT_EQ((*next)->placements, std::vector<std::string>{"one"});
    EXPECT_TRUE((*next)->state.empty() && (*next)->circuits.empty());
  }
  printf("%lld steps; cut %d times: %d old states, %d new ones\n", static_cast<long long>(steps),
         kCuts, old_states, new_states);
  EXPECT_GT(old_states, 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, StorePowerLoss, testing::Values(1, 2, 3));

}  // namespace
}  // namespace bfly::control
