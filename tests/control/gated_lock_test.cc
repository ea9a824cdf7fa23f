// SPDX-License-Identifier: Apache-2.0
#include "control/controller/gated_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace bfly::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Readers that leave the lock only once another one has come in. A reader that the gate keeps out
// cannot come in, so a reader waits for the next one no longer than `kHeld`.
class OverlappingReaders {
 public:
  explicit OverlappingReaders(GatedLock& lock) : lock_(lock) {
    for (int i = 0; i < 3; ++i) threads_.emplace_back([this] { Read(); });
  }
  ~OverlappingReaders() {
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  int overlaps() const { return overlaps_; }

 private:
  static constexpr milliseconds kHeld{200};

  void Read() {
    while (!ended_) {
      const std::shared_lock lock(lock_);
      const int mine = ++came_;
      const auto end = steady_clock::now() + kHeld;
      while (came_ == mine && !ended_ && steady_clock::now() < end) std::this_thread::yield();
      if (came_ != mine) ++overlaps_;
    }
  }

  GatedLock& lock_;
  std::atomic<bool> ended_ = false;
  std::atomic<int> came_ = 0;
  std::atomic<int> overlaps_ = 0;
  std::vector<std::thread> threads_;
};

TEST(GatedLock, LetsAWriterInAmongReadersThatOverlapForEver) {
  GatedLock lock;
  std::future<void> written;
  bool got_in = false;
  {
    OverlappingReaders readers(lock);
    while (readers.overlaps() < 100) std::this_thread::sleep_for(milliseconds(1));
    written = std::async(std::launch::async, [&lock] { const std::unique_lock writer(lock); });
    got_in = written.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  }
  EXPECT_TRUE(got_in);
}

TEST(GatedLock, KeepsReadersOutWhileAWriterIsIn) {
  GatedLock lock;
  int written = 0;  // two fields of it would differ if a reader came in between
  int again = 0;
  std::atomic<bool> ended = false;
  std::atomic<bool> torn = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!ended) {
        const std::shared_lock reader(lock);
        if (written != again) torn = true;
      }
    });
  }
  for (int i = 0; i < 1000; ++i) {
    const std::unique_lock writer(lock);
    ++written;
    std::this_thread::yield();
    ++again;
  }
  ended = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(torn);
  EXPECT_EQ(written, 1000);
}

}  // namespace
}  // namespace bfly::control
