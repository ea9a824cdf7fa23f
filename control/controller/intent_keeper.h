// SPDX-License-Identifier: Apache-2.0
// Keeps the intent of the loaded fabric in the store, so that it survives the end of all processes.
//
// Placements are written by CircuitCommit before they are answered, and the end of a schedule is
// written by WriteNow(). Everything else is written by a thread of its own a moment after it is
// committed, so that no set-up waits for a disk: what a power cut may cost is the last fraction of
// a second. A fabric that ends in order is kept whole.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/fabric.pb.h"
#include "control/controller/kept_fabric.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/unwritten_circuits.h"
#include "control/events/event_log.h"
#include "control/store/store.h"

namespace bfly::control {

// More set-ups than earlier controllers can have done after the newest circuit that is known, also
// if some of them were killed and had left out the ids of set-ups to come. The ids of so many are
// left out where the store, which cannot be read, would say which ids were given.
inline constexpr uint64_t kSetUpsUnread = uint64_t{1} << 32;

class IntentKeeper {
 public:
  // Nothing may be loaded yet. Does ReadFirst.
  IntentKeeper(LoadedIntent& intent, Store& store, EventLog& events);
  // Writes what is committed.
  ~IntentKeeper();

  // What a resume would bring back. While no fabric is loaded it is up to date, but for files that
  // somebody puts in the store's place. Thread-safe.
  std::optional<v1::KeptIntent> kept() const;
  // Why the latest changes are not kept; empty: they are, or will be in a moment. Thread-safe.
  std::string problem() const;
  // Whether the store could not be read yet, since the controller began. Until it is read, or until
  // a fabric begins or ends, the store is not written. Thread-safe.
  bool is_unread() const { return unread_.load(std::memory_order_relaxed); }

  // What follows needs the change lock.

  // If the store is unread, reads it. Circuit ids that the store says were given are not given
  // again.
  void ReadFirst() {
    const std::lock_guard writing(writing_);
    ReadNow().IgnoreError();
  }
  // Brings what is kept back into `intent`, and returns it in numbers; nothing if nothing is kept.
  // FAILED_PRECONDITION: what is kept is of another fabric, or does not fit, or the last fabric is
  // not written yet.
  absl::StatusOr<std::optional<v1::KeptIntent>> RestoreInto(Intent& intent, uint64_t most_objects);
  // The fabric that was loaded when its controller ended, with what StateOf notes of it; nothing if
  // none was. Its boot_id is Intent::whole_at; empty: an earlier bfly, which did not know it, wrote
  // the record. After an error of the store nobody knows what was loaded.
  absl::StatusOr<std::optional<v1::AgentState>> LeftLoaded();

  // `next` is the loaded fabric now, and its record begins anew. Returns what was kept before and
  // is set aside; nothing if there was nothing. It is what the store has where the intent is not
  // known (Intent::is_known).
  std::optional<v1::KeptIntent> Begin(std::unique_ptr<Intent> next);
  // `next`, into which everything was brought back, is the loaded fabric now.
  void Resume(std::unique_ptr<Intent> next);
  // A data plane is about to load the fabric without the rest of the intent. Sets Intent::whole_at
  // to kNobody and writes that at once, so that a controller that is started before the rest is
  // there does not take the data plane for whole. If the store cannot be written, it is written
  // later.
  void WriteNotWhole();
  // Writes what is committed, before it returns. If the store cannot be written, it is written
  // later. A fabric must be loaded.
  void WriteNow() {
    const std::lock_guard writing(writing_);
    Write(Moment::kRunning, /*surely=*/true);
  }
  // No fabric is loaded any more. What the last one was is kept. If the store cannot be written, it
  // is written later.
  void End();

 private:
  // When the store is written. While the fabric runs, circuits may get ids that the store does not
  // hear of before the controller is killed.
  enum class Moment { kRunning, kControllerEnds, kUnloaded };

  void Run();
  // What follows needs writing_.

  // ReadFirst. Needs the change lock, too.
  absl::Status ReadNow();
  // Returns false if nothing can be written now: the store is unread, or the intent is not known
  // yet, or something is uncommitted and not `surely`. `surely` needs the change lock.
  bool Write(Moment moment, bool surely);
  absl::Status Put(const v1::AgentState& state);
  // Writes ending_ and closes the store. Returns false if ending_ is yet to be written.
  bool WriteEnd();
  // Writes that the fabric of the store is not loaded any more, and leaves its circuits there.
  absl::Status EndKept();
  // Writes what the controller knows of a fabric that ended, and leaves what the store alone knows:
  // objects, which of them are read, and ids that were given. A record of another fabric than
  // `name` is set aside.
  absl::Status EndUnread(const std::string& name, v1::AgentState state,
                         UnwrittenCircuits::Batch circuits);
  void Learn(const absl::Status& status);
  void SetKept(std::optional<v1::KeptIntent> kept);
  absl::StatusOr<std::optional<FabricRecord>> ReadRecord();

  LoadedIntent& intent_;
  Store& store_;
  EventLog& events_;
  UnwrittenCircuits unwritten_;
  std::atomic<bool> unread_ = true;  // written with writing_ held

  std::mutex writing_;         // guards what follows; it is held while the store writes
  uint64_t written_ = 0;       // changes of the intent that are in the store
  std::string written_state_;  // what the store has
  // Writes that the last fabric ended; null: the store knows it.
  std::function<absl::Status()> ending_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<v1::KeptIntent> kept_;
  std::string problem_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace bfly::control
