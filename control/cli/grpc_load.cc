// SPDX-License-Identifier: Apache-2.0
#include "control/cli/grpc_load.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "control/status/grpc_status.h"
#include "dataplane/runtime/elapsed.h"

namespace bfly::control {
namespace {

using Clock = std::chrono::steady_clock;

// How long answers may still come after the measured time.
constexpr std::chrono::seconds kPatience{30};

// Rows whose circuits one message sets up and the next message releases.
struct Group {
  v1::CircuitOperation set_up;
  v1::CircuitOperation release;
  bool standing = false;

  // The number of operations in a message; a message that is not a batch has one.
  static int size(const v1::CircuitOperation& m) {
    return m.has_batch() ? m.batch().operations_size() : 1;
  }
  v1::CircuitOperation* member(int i) {
    return release.has_batch() ? release.mutable_batch()->mutable_operations(i) : &release;
  }
};

std::vector<Group> MakeGroups(const std::vector<uint32_t>& outputs, uint32_t batch) {
  std::vector<Group> groups;
  const auto rows = static_cast<uint32_t>(outputs.size());
  for (uint32_t first = 0; first < rows; first += batch) {
    Group group;
    for (uint32_t row = first; row < std::min(rows, first + batch); ++row) {
      v1::CircuitOperation* set_up =
          batch == 1 ? &group.set_up : group.set_up.mutable_batch()->add_operations();
      set_up->mutable_set_up()->set_input(row);
      set_up->mutable_set_up()->set_output(outputs[row]);
      (batch == 1 ? &group.release : group.release.mutable_batch()->add_operations())
          ->mutable_release();
    }
    group.set_up.set_tag(groups.size());
    group.release.set_tag(groups.size());
    groups.push_back(std::move(group));
  }
  return groups;
}

// The groups whose next message is to be written. One thread pushes, one thread takes.
class GroupQueue {
 public:
  void Push(size_t group) {
    const std::lock_guard lock(mutex_);
    groups_.push_back(group);
    if (groups_.size() == 1) changed_.notify_all();
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  // Returns nothing once the queue is closed.
  std::vector<size_t> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !groups_.empty() || closed_; });
    return std::exchange(groups_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<size_t> groups_;
  bool closed_ = false;
};

absl::Status ErrorOf(const v1::CircuitResult& result) {
  return absl::Status(static_cast<absl::StatusCode>(result.code()), result.message());
}

// Remembers the ids of the circuits that were set up, or that the circuits were released.
absl::Status Learn(const v1::CircuitResult& result, Group& group) {
  if (result.code() != 0) return ErrorOf(result);
  const int members = Group::size(group.release);
  if (group.release.has_batch() && result.results_size() != members) {
    return absl::InternalError(absl::StrCat("a message of ", members, " operations got ",
                                            result.results_size(), " results"));
  }
  for (int i = 0; i < members; ++i) {
    const v1::CircuitResult& one = group.release.has_batch() ? result.results(i) : result;
    if (one.code() != 0) return ErrorOf(one);
    if (!group.standing) group.member(i)->mutable_release()->set_id(one.circuit().id());
  }
  group.standing = !group.standing;
  return absl::OkStatus();
}

// Keeps `callers` calls under way until the time is over: a caller begins a call when its last one
// is answered.
class Callers {
 public:
  // Begins a call of a caller; `done` must be called when the call is answered. Returns false if
  // the caller has nothing more to do.
  using Done = std::function<void(grpc::Status)>;
  using Begin = std::function<bool(uint32_t caller, bool last, Done done)>;

  static absl::StatusOr<Rate> Run(uint32_t callers, double seconds, const Begin& begin) {
    Callers all(callers, begin, seconds);
    for (uint32_t caller = 0; caller < callers; ++caller) all.Next(caller);
    std::unique_lock lock(all.mutex_);
    all.changed_.wait(lock, [&] { return all.busy_ == 0; });
    if (!all.error_.ok()) return all.error_;
    return Rate{all.answers_, dataplane::SecondsSince(all.start_)};
  }

 private:
  Callers(uint32_t callers, const Begin& begin, double seconds)
      : begin_(begin), seconds_(seconds), busy_(callers) {}

  void Next(uint32_t caller) {
    const bool last =
        failed_.load(std::memory_order_relaxed) || dataplane::SecondsSince(start_) > seconds_;
    const bool begun = begin_(caller, last, [this, caller](const grpc::Status& status) {
      answers_.fetch_add(1, std::memory_order_relaxed);
      if (!status.ok()) {
        const std::lock_guard lock(mutex_);
        if (error_.ok()) error_ = FromGrpc(status);
        failed_.store(true, std::memory_order_relaxed);
      }
      Next(caller);
    });
    if (begun) return;
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) changed_.notify_all();
  }

  const Begin& begin_;
  const double seconds_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<uint64_t> answers_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint32_t busy_;       // under mutex_
  absl::Status error_;  // under mutex_
};

}  // namespace

absl::StatusOr<Rate> LoadStream(const GrpcLoad& load, uint32_t batch) {
  std::vector<Group> groups = MakeGroups(load.outputs, batch);
  const auto stub = v1::Circuits::NewStub(load.channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(static_cast<int64_t>(load.seconds * 1e3)) +
                       kPatience);
  const auto stream = stub->Stream(&context);
  GroupQueue queue;
  for (size_t i = 0; i < groups.size(); ++i) queue.Push(i);
  const Clock::time_point start = Clock::now();
  std::thread writer([&] {
    for (std::vector<size_t> ready = queue.Take(); !ready.empty(); ready = queue.Take()) {
      for (const size_t i : ready) {
        grpc::WriteOptions options;
        if (i != ready.back() && batch == 1) options.set_buffer_hint();
        if (!stream->Write(groups[i].standing ? groups[i].release : groups[i].set_up, options)) {
          return;
        }
      }
    }
  });
  Rate rate;
  absl::Status status;
  v1::CircuitResult result;
  size_t open = groups.size();
  while (status.ok() && open > 0 && stream->Read(&result)) {
    if (result.tag() >= groups.size()) {
      status = absl::InternalError(absl::StrCat("tag: ", result.tag(), " was not sent"));
      break;
    }
    Group& group = groups[result.tag()];
    status = Learn(result, group);
    rate.answers += Group::size(group.release);
    if (group.standing || dataplane::SecondsSince(start) < load.seconds) {
      queue.Push(result.tag());
    } else {
      --open;
    }
  }
  rate.seconds = dataplane::SecondsSince(start);
  queue.Close();
  if (!status.ok() || open > 0) context.TryCancel();
  writer.join();
  stream->WritesDone();
  const grpc::Status end = stream->Finish();
  if (!status.ok()) return status;
  if (!end.ok()) return FromGrpc(end);
  return rate;
}

absl::StatusOr<Rate> LoadUnary(const GrpcLoad& load, uint32_t callers) {
  const auto stub = v1::Circuits::NewStub(load.channel);
  struct Caller {
    std::optional<grpc::ClientContext> context;
    v1::SetUpRequest set_up;
    v1::SetUpResponse is_up;
    v1::ReleaseRequest release;
    v1::ReleaseResponse released;
    bool standing = false;
  };
  std::vector<Caller> all(std::min<size_t>(callers, load.outputs.size()));
  for (uint32_t i = 0; i < all.size(); ++i) {
    all[i].set_up.set_input(i);
    all[i].set_up.set_output(load.outputs[i]);
  }
  return Callers::Run(static_cast<uint32_t>(all.size()), load.seconds,
                      [&](uint32_t i, bool last, const Callers::Done& done) {
                        Caller& caller = all[i];
                        if (last && !caller.standing) return false;
                        caller.context.emplace();
                        if (caller.standing) {
                          caller.release.set_id(caller.is_up.circuit().id());
                          caller.standing = false;
                          stub->async()->Release(&*caller.context, &caller.release,
                                                 &caller.released, done);
                        } else {
                          stub->async()->SetUp(&*caller.context, &caller.set_up, &caller.is_up,
                                               [&caller, done](const grpc::Status& status) {
                                                 caller.standing = status.ok();
                                                 done(status);
                                               });
                        }
                        return true;
                      });
}

absl::StatusOr<Rate> LoadEmpty(const GrpcLoad& load, uint32_t callers) {
  grpc::GenericStub stub(load.channel);
  const grpc::Slice nothing("");
  const grpc::ByteBuffer request(&nothing, 1);
  struct Caller {
    std::optional<grpc::ClientContext> context;
    grpc::ByteBuffer answer;
  };
  std::vector<Caller> all(callers);
  return Callers::Run(callers, load.seconds, [&](uint32_t i, bool last, const Callers::Done& done) {
    if (last) return false;
    all[i].context.emplace();
    stub.UnaryCall(&*all[i].context, "/grpc.health.v1.Health/Check", {}, &request, &all[i].answer,
                   done);
    return true;
  });
}

}  // namespace bfly::control
