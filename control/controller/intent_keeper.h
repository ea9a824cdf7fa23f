// SPDX-License-Identifier: Apache-2.0
// Keeps the intent of the loaded fabric in the store, so that it survives the end of all processes.
//
// Placements are written by CircuitCommit before they are answered, and the end of a schedule is
// written by WriteNow(). Everything else is written by a thread of its own a moment after it is
// committed, so that no set-up waits for a disk: what a power cut may cost is the last fraction of
// a second. A fabric that ends in order is kept whole.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/fabric.pb.h"
#include "control/controller/kept_fabric.h"
#include "control/controller/loaded_intent.h"
#include "control/events/event_log.h"
#include "control/store/store.h"

namespace bfly::control {

class IntentKeeper final : public CircuitListener {
 public:
  // Nothing may be loaded yet. Circuit ids that the store says were given are not given again.
  IntentKeeper(LoadedIntent& intent, Store& store, EventLog& events);
  // Writes what is committed.
  ~IntentKeeper() override;

  // What a resume would bring back. While no fabric is loaded it is up to date, but for files that
  // somebody puts in the store's place. Thread-safe.
  std::optional<v1::KeptIntent> kept() const;
  // Why the latest changes are not kept; empty: they are, or will be in a moment. Thread-safe.
  std::string problem() const;

  // What follows needs the change lock.

  // Brings what is kept back into `intent`, and returns it in numbers; nothing if nothing is kept.
  // FAILED_PRECONDITION: what is kept is of another fabric, or does not fit, or the last fabric is
  // not written yet.
  absl::StatusOr<std::optional<v1::KeptIntent>> RestoreInto(Intent& intent, uint64_t most_objects);
  // The fabric that was loaded when its controller ended, with what StateOf notes of it; nothing if
  // none was. Its boot_id is Intent::whole_at; empty: an earlier bfly, which did not know it, wrote
  // the record. After an error of the store nobody knows what was loaded.
  absl::StatusOr<std::optional<v1::AgentState>> LeftLoaded();

  // `next` is the loaded fabric now, and its record begins anew. Returns what was kept before and
  // is set aside; nothing if there was nothing.
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

  void OnFabric(std::shared_ptr<const Network> network,
                const std::vector<StandingCircuit>& standing) override;
  void OnChange(const CircuitChange& change) override;

 private:
  struct PendingCircuit {
    uint64_t tag = 0;
    uint64_t id = 0;
    std::optional<uint64_t> object = {};
    bool stands = false;
  };
  // When the store is written. While the fabric runs, circuits may get ids that the store does not
  // hear of before the controller is killed.
  enum class Moment { kRunning, kControllerEnds, kUnloaded };
  struct Pending {
    bool forget = false;  // the circuits in the store are of another fabric, or nobody knows
    std::unordered_map<Row, PendingCircuit> circuits;
  };

  void Run();
  // What follows needs writing_.

  // Returns false if nothing can be written now: something is uncommitted and not `surely`, or the
  // circuits are not known yet.
  bool Write(Moment moment, bool surely);
  absl::Status Put(const v1::AgentState& state);
  Pending TakePending();
  static KeptChange ChangeTo(const v1::AgentState& state, const Pending& pending);
  void PutBack(Pending unwritten);
  // Writes ending_ and closes the store. Returns false if ending_ is yet to be written.
  bool WriteEnd();
  // Writes that the fabric of the store is not loaded any more, and leaves its circuits there.
  absl::Status EndKept();
  void Learn(const absl::Status& status);
  void SetKept(std::optional<v1::KeptIntent> kept);
  absl::StatusOr<std::optional<FabricRecord>> ReadRecord();

  LoadedIntent& intent_;
  Store& store_;
  EventLog& events_;

  std::mutex writing_;         // guards what follows; it is held while the store writes
  uint64_t written_ = 0;       // changes of the intent that are in the store
  std::string written_state_;  // what the store has
  // Writes that the last fabric ended; null: the store knows it.
  std::function<absl::Status()> ending_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Pending pending_;
  std::optional<v1::KeptIntent> kept_;
  std::string problem_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace bfly::control
