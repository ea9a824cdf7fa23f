// SPDX-License-Identifier: Apache-2.0
// One poll of the data planes, shared by everybody who wants counters.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"
#include "control/controller/controller.h"
#include "control/controller/timed_lock.h"
#include "control/services/fabric_account.h"
#include "control/services/link_reader.h"
#include "control/services/picture.h"

namespace bfly::control {

using PicturePtr = std::shared_ptr<const Picture>;

// Gets picture after picture. The polling thread calls it, so it must not block.
class PictureListener {
 public:
  virtual ~PictureListener() = default;
  virtual void OnPicture(const PicturePtr& picture) = 0;
  // A listener lets go of pictures numbered below `sequence`: their memory is needed.
  virtual void ForgetBefore(uint64_t sequence) = 0;
  // Without links a picture is cheap, however large the network.
  virtual bool wants_links() const = 0;
  // There will be no more pictures: the fabric was unloaded.
  virtual void OnEnd(const absl::Status& status) = 0;
};

class CounterPoll {
 public:
  struct Options {
    // How often the sums are read while nobody subscribes. A process that is killed takes along
    // what it counted since.
    std::chrono::milliseconds idle_interval{1000};
    // The time that pictures are marked with, for people to read.
    std::function<std::chrono::system_clock::time_point()> time_of_day =
        std::chrono::system_clock::now;
  };
  explicit CounterPoll(Controller& controller) : CounterPoll(controller, Options()) {}
  CounterPoll(Controller& controller, Options options);
  ~CounterPoll();

  // Returns a picture that was taken after the call began. Callers that wait for one at the same
  // time share it. Data planes that do not answer in their share of the time until
  // `deadline`, or are known not to answer, are in it with their last figures. RESOURCE_EXHAUSTED:
  // the network has too many links for pictures of them. DEADLINE_EXCEEDED: a picture for somebody
  // else took until then.
  absl::StatusOr<PicturePtr> Now(bool links, Deadline deadline = kNoDeadline);

  // For clients who want some links beside the picture that Now(false) gives.
  LinkReader& links() { return links_; }
  absl::StatusOr<Controller::View> fabric() const { return controller_.view(/*circuits=*/false); }

  // Unloads the fabric and closes its account over all processes that ever were its data planes.
  // DEADLINE_EXCEEDED: the time was over before any of them was unloaded.
  absl::StatusOr<v1::UnloadResponse> Unload(uint64_t election_id, Deadline deadline);
  // Returns the picture that listeners were told last; null if there is none.
  PicturePtr newest() const {
    const std::lock_guard lock(newest_mutex_);
    return newest_;
  }
  Resources& resources() { return controller_.resources(); }

  // The listener gets a picture at once, then one every `interval`, or more often if others ask for
  // that.
  void Subscribe(PictureListener* listener, std::chrono::milliseconds interval);
  // The listener is not called any more once this has returned. The listener itself must not call
  // it.
  void Unsubscribe(PictureListener* listener);

 private:
  using Clock = std::chrono::steady_clock;

  absl::StatusOr<PicturePtr> Poll(bool links, Deadline deadline);
  void Run();
  // Tells listeners to let go of old pictures when too many are alive; needs listeners_mutex_.
  void Prune(const PicturePtr& picture);

  Controller& controller_;
  LinkReader links_{controller_};
  const Options options_;
  mutable std::mutex newest_mutex_;
  PicturePtr newest_;  // newest_mutex_

  TimedLock poll_lock_;  // one poll at a time; guards what follows
  PicturePtr latest_;
  Clock::time_point latest_began_;
  uint64_t sequence_ = 0;
  // The last figures of each data plane. They stand in for a data plane that does not answer.
  std::map<const DataPlane*, Picture::Part> last_parts_;
  std::shared_ptr<const Network> last_network_;  // another one: another fabric
  uint64_t last_restores_ = 0;  // another number: the same fabric, and it counts from 0 again
  FabricAccount account_;

  std::mutex listeners_mutex_;
  std::condition_variable listeners_changed_;
  std::map<PictureListener*, std::chrono::milliseconds> listeners_;
  std::deque<std::weak_ptr<const Picture>> told_;  // listeners_mutex_: oldest first
  bool new_listener_ = false;                      // listeners_mutex_: one has no picture yet
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace bfly::control
