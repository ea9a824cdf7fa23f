// SPDX-License-Identifier: Apache-2.0
// A stream of answers of which one is written at a time. Whoever has news for it only wakes it. A
// client that reads slowly holds nobody up: the stream makes a message when the one before is
// written, of what is there then.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "control/services/call_desk.h"
#include "control/services/stalled_calls.h"
#include "control/services/watch_writer.h"
#include "control/status/grpc_status.h"

namespace bfly::control {

class WrittenStream : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                      public WatchWriter::Stream {
 public:
  void OnWriteDone(bool ok) final {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    stalled_.SetSending(false);
    if (!ok && !ending_.has_value()) ending_ = absl::CancelledError("the client has gone");
    WriteLocked();
  }
  void OnCancel() final { End(absl::CancelledError("cancelled")); }
  void OnDone() final {
    Leave();
    // The writer may be about to write.
    writer_.Forget(this);
    delete this;
  }
  void Write() final {
    woken_.store(false);
    const std::lock_guard lock(mutex_);
    WriteLocked();
  }

 protected:
  // `places` are of the streams of its kind.
  WrittenStream(WatchWriter& writer, CallDesk& desk, grpc::CallbackServerContext* context,
                const Resource& places)
      : share_(desk.ShareOf(*context)),
        writer_(writer),
        stalled_(desk.stalled(), context, &places, share_) {}

  // Makes the next message. Nothing: there is no news. It may call EndLocked. Needs mutex_.
  virtual std::optional<grpc::ByteBuffer> NextLocked() = 0;
  // The stream is over: after this nobody wakes it any more.
  virtual void Leave() = 0;

  // Has the writer's thread write what is new. It takes no lock of the stream, so any thread may
  // call it.
  void Wake() {
    if (!woken_.exchange(true)) writer_.Wake(this);
  }
  void End(const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    EndLocked(status);
  }
  void EndLocked(const absl::Status& status) {
    if (ending_.has_value()) return;
    ending_ = status;
    WriteLocked();
  }
  bool is_ending() const { return ending_.has_value(); }  // mutex_

  const Resource::Share share_;  // what its caller may take of the places
  std::mutex mutex_;

 private:
  // Begins to write the next message, or ends, if nothing is being written.
  void WriteLocked() {
    if (writing_ || finished_) return;
    if (!ending_.has_value()) {
      if (std::optional<grpc::ByteBuffer> next = NextLocked(); next.has_value()) {
        writing_ = true;
        bytes_ = *std::move(next);
        stalled_.SetSending(true);
        StartWrite(&bytes_);
        return;
      }
    }
    if (!ending_.has_value() || finished_) return;
    finished_ = true;
    Finish(ToGrpc(*ending_));
  }

  WatchWriter& writer_;
  StalledCalls::Call stalled_;
  std::atomic<bool> woken_ = false;  // set: Write() will be called
  // What follows needs mutex_.
  bool writing_ = false;
  bool finished_ = false;
  std::optional<absl::Status> ending_;
  grpc::ByteBuffer bytes_;  // being written
};

}  // namespace bfly::control
