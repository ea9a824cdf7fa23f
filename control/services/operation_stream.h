// SPDX-License-Identifier: Apache-2.0
// Streams of operations, of Circuits and of DataServer. Messages are carried out and answered in
// order, and the next messages are read meanwhile.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/controller/commit_queue.h"
#include "control/controller/resources.h"
#include "control/intent/execute.h"
#include "control/server/message_bytes.h"
#include "control/services/operation_message.h"
#include "control/status/grpc_status.h"

namespace bfly::control {

// How many operations may wait for their answers to be written, in one stream and in all together.
// When a stream has that many, or its share of those of all streams, the transport holds its client
// back: the client sends faster than answers can be written, or does not read them.
inline constexpr size_t kMaxOpen = 8192;
inline constexpr size_t kMaxOpenOfAll = 16'384;
// How much memory one message may take once it is parsed.
inline constexpr size_t kMaxMessageBytes = kMaxInMessage * kOperationBytes;

// One call of a stream. It deletes itself when it is over.
template <class Kind>
class StreamReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  StreamReactor(CommitQueue& queue, Resources& resources, grpc::CallbackServerContext* context)
      : queue_(queue), resources_(resources), context_(context) {
    counted_ = resources_.streams.Take();
    if (counted_) {
      StartRead(&bytes_);
      return;
    }
    is_finished_ = true;
    Finish(ToGrpc(resources_.streams.Exhausted("streams", "close others first")));
  }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override {
    Change([this] { is_cancelled_ = true; });
  }
  void OnDone() override {
    if (counted_) resources_.streams.Give();
    delete this;
  }

  // Called from any thread, once for each message, in order. `size` is what the message counts for
  // in open_.
  void Answer(const typename Kind::Result& result, size_t size) {
    grpc::ByteBuffer bytes = Serialize(result);
    Change([&] {
      --in_queue_;
      answers_.push_back({std::move(bytes), size});
    });
  }

 private:
  struct Pending {
    grpc::ByteBuffer bytes;
    size_t size;
  };

  // Parses what was read and tells the memory it takes; RESOURCE_EXHAUSTED if that is too much.
  absl::Status Read(typename Kind::Operation* operation, size_t* bytes) const;
  size_t most_open() const {
    return std::min<size_t>(kMaxOpen,
                            kMaxOpenOfAll / std::max<size_t>(1, resources_.streams.in_use()));
  }

  // Calls `change` with mutex_ held and then does what is due. This object may be gone afterwards.
  template <class Function>
  void Change(Function&& change);

  CommitQueue& queue_;
  Resources& resources_;
  grpc::CallbackServerContext* const context_;
  bool counted_ = false;         // among the streams
  grpc::ByteBuffer bytes_;       // of the read that is on
  std::mutex mutex_;             // guards what follows
  absl::Status ending_;          // what the client is told in the end
  size_t in_queue_ = 0;          // messages
  size_t open_ = 0;              // operations in the queue and in answers_
  std::deque<Pending> answers_;  // the first is being written if is_writing_
  bool is_writing_ = false;
  bool is_paused_ = false;  // no read is on, but one will be
  bool reads_are_over_ = false;
  bool is_cancelled_ = false;
  bool is_broken_ = false;  // nothing can be written any more
  bool is_finished_ = false;
};

// The operations of one message, executed one after the other.
template <class Kind>
class MessagePlan final : public Plan {
 public:
  MessagePlan(Message message, StreamReactor<Kind>& stream)
      : message_(std::move(message)), stream_(stream) {
    outcomes_.assign(message_.orders.size(), absl::UnknownError(""));
  }

  uint64_t caller() const override { return reinterpret_cast<uintptr_t>(&stream_); }
  void Execute(FabricState& state, const Arbitration& arbitration) override {
    network_ = state.shared_network();
    absl::Status permitted;
    for (size_t i = 0; i < outcomes_.size(); ++i) {
      const auto& [tag, order, election_id] = message_.orders[i];
      const bool same = i != 0 && election_id == message_.orders[i - 1].election_id;
      if (!same) permitted = arbitration.Check(election_id);
      if (!order.ok()) {
        outcomes_[i] = order.status();
      } else if (permitted.ok()) {
        outcomes_[i] = control::Execute(state, *order);
      } else {
        outcomes_[i] = permitted;
      }
    }
  }

  void Done() override {
    for (size_t i = 0; i < outcomes_.size() && !status.ok(); ++i) {
      const absl::StatusOr<Order>& order = message_.orders[i].order;
      outcomes_[i] = order.ok() ? status : order.status();
    }
    stream_.Answer(ToAnswer<Kind>(network_.get(), message_, outcomes_.data()), SizeOf(message_));
  }

 private:
  const Message message_;
  StreamReactor<Kind>& stream_;
  std::vector<Outcome> outcomes_;  // of message_.orders
  std::shared_ptr<const Network> network_;
};

template <class Kind>
absl::Status StreamReactor<Kind>::Read(typename Kind::Operation* operation, size_t* bytes) const {
  const absl::Status status = ParsedSize(bytes_, *Kind::Operation::descriptor(), bytes);
  if (!status.ok()) return status;
  if (*bytes <= kMaxMessageBytes) return Parse(bytes_, operation);
  return absl::ResourceExhaustedError(absl::StrCat("a message would take ", *bytes,
                                                   " bytes of memory, at most ", kMaxMessageBytes,
                                                   " are allowed; send several messages"));
}

template <class Kind>
void StreamReactor<Kind>::OnReadDone(bool ok) {
  if (!ok) {
    Change([this] { reads_are_over_ = true; });
    return;
  }
  typename Kind::Operation operation;
  size_t bytes = 0;
  if (absl::Status status = Read(&operation, &bytes); !status.ok()) {
    Change([&] {
      reads_are_over_ = true;
      ending_ = std::move(status);
    });
    return;
  }
  Message message = ToMessage<Kind>(operation, bytes);
  bool read_on;
  {
    const std::lock_guard lock(mutex_);
    ++in_queue_;
    open_ += SizeOf(message);
    read_on = open_ < most_open() && !is_cancelled_;
  }
  CommitQueue& queue = queue_;
  const bool lead = queue.Push(std::make_unique<MessagePlan<Kind>>(std::move(message), *this));
  // The next read begins after the push, so that messages stay in order, and before the work, so
  // that the next message comes meanwhile. Up to here no other thread begins a read, because the
  // stream is not paused yet, and this object lives, because reads are not over. From here on it
  // may be gone.
  if (read_on) {
    StartRead(&bytes_);
  } else {
    Change([this] { is_paused_ = true; });
  }
  if (lead) queue.Lead();
}

template <class Kind>
void StreamReactor<Kind>::OnWriteDone(bool ok) {
  // If the client cannot be written to, it is not read from either.
  if (!ok) context_->TryCancel();
  Change([this, ok] {
    is_writing_ = false;
    is_broken_ |= !ok;
    open_ -= answers_.front().size;
    answers_.pop_front();
  });
}

template <class Kind>
template <class Function>
void StreamReactor<Kind>::Change(Function&& change) {
  const grpc::ByteBuffer* write = nullptr;
  grpc::WriteOptions options;
  bool read = false;
  bool finish = false;
  {
    const std::lock_guard lock(mutex_);
    change();
    while (is_broken_ && !answers_.empty()) {
      open_ -= answers_.front().size;
      answers_.pop_front();
    }
    if (!is_writing_ && !answers_.empty()) {
      is_writing_ = true;
      write = &answers_.front().bytes;
      if (answers_.size() > 1) options.set_buffer_hint();
    }
    if (is_paused_ && is_cancelled_) {
      is_paused_ = false;
      reads_are_over_ = true;
    } else if (is_paused_ && open_ <= most_open() / 2) {
      is_paused_ = false;
      read = true;
    }
    finish = reads_are_over_ && in_queue_ == 0 && answers_.empty() && !is_finished_;
    is_finished_ |= finish;
  }
  // The lock is not held, because gRPC may call back from here. What was decided keeps this object
  // alive until it has begun.
  if (write != nullptr) StartWrite(write, options);
  if (read) StartRead(&bytes_);
  if (finish) Finish(ToGrpc(ending_));
}

}  // namespace bfly::control
