// SPDX-License-Identifier: Apache-2.0
// The thread that writes to watchers. Whoever changes circuits only says that there is news.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace bfly::control {

class WatchWriter {
 public:
  class Stream {
   public:
    virtual ~Stream() = default;
    virtual void Write() = 0;
  };

  WatchWriter() : thread_([this] { Run(); }) {}
  ~WatchWriter() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Has Write() called soon.
  void Wake(Stream* stream) {
    const std::lock_guard lock(mutex_);
    woken_.push_back(stream);
    changed_.notify_all();
  }
  // Returns when Write() of the stream neither runs nor will run.
  void Forget(Stream* stream) {
    std::unique_lock lock(mutex_);
    woken_.erase(std::remove(woken_.begin(), woken_.end(), stream), woken_.end());
    changed_.wait(lock, [&] { return writing_ != stream; });
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !woken_.empty() || stopping_; });
      if (woken_.empty()) return;
      writing_ = woken_.front();
      woken_.pop_front();
      lock.unlock();
      writing_->Write();
      lock.lock();
      writing_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Stream*> woken_;  // mutex_
  Stream* writing_ = nullptr;  // mutex_: set; the thread itself reads it without
  bool stopping_ = false;      // mutex_
  std::thread thread_;         // last: it uses the rest
};

}  // namespace bfly::control
