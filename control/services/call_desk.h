// SPDX-License-Identifier: Apache-2.0
// Unary calls that take a thread while they are carried out. The desk bounds their number in each
// lane, the memory of their requests once they are parsed, and the memory of answers until they are
// sent.
#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "control/access/gate.h"
#include "control/controller/resources.h"
#include "control/services/stalled_calls.h"

namespace bfly::control {

class DeskCall;

class CallDesk {
 public:
  // Calls that only read never wait for calls that change something. Neither waits for programs,
  // which run one after the other, nor for dry runs of programs, which do so too. Calls of one lane
  // do not take the room of another.
  enum class Lane { kRead, kChange, kProgram, kDryRun };
  // Parses the request, carries it out and fills in the answer.
  using Handler = std::function<grpc::Status(const grpc::ServerContextBase*,
                                             const grpc::ByteBuffer& request, grpc::ByteBuffer*)>;

  // With a gate, callers may do what their role allows; without one, everything.
  explicit CallDesk(Resources& resources, Gate* gate = nullptr);
  ~CallDesk();
  Gate* gate() { return gate_; }
  StalledCalls& stalled() { return stalled_; }
  Resources& resources() { return resources_; }
  CallDesk(const CallDesk&) = delete;
  CallDesk& operator=(const CallDesk&) = delete;

  // Takes a call, which is finished later. RESOURCE_EXHAUSTED: too many calls of its lane wait, the
  // message takes too much memory, or answers that clients do not read take too much. Then a call
  // that would change something has changed nothing.
  grpc::ServerUnaryReactor* Take(Lane lane, const google::protobuf::Descriptor& type,
                                 grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request, grpc::ByteBuffer* response,
                                 const Handler& handler);

  // What the caller of a call may take of each kind of place.
  Resource::Share ShareOf(const grpc::ServerContextBase& context) const;

  // Takes memory for a single set-up, release or read that waits without a thread. `taken` is what
  // must be given back to order_bytes.
  absl::Status TakeOrder(const grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type,
                         uint64_t* taken);

 private:
  friend class DeskCall;
  struct Queue {
    Queue(Resource& room_of_lane, const char* name) : room(room_of_lane), what(name) {}

    Resource& room;          // a place for each call that waits, is carried out or is answered
    const char* const what;  // for the error of a call that finds no place
    std::deque<DeskCall*> waiting;  // mutex_
    std::condition_variable changed;
    std::vector<std::thread> threads;
  };

  Queue& QueueOf(Lane lane);
  void Run(Queue& queue);
  void Serve(DeskCall& call);
  // Waits until there is room for the parsed message. Returns false if the call was cancelled
  // meanwhile.
  bool TakeRequest(DeskCall& call, uint64_t bytes);

  Resources& resources_;
  Gate* const gate_;
  std::mutex mutex_;
  bool stopping_ = false;  // mutex_
  StalledCalls stalled_;
  Queue reads_{resources_.reads, "reads that wait or are carried out"};
  Queue changes_{resources_.calls, "changes that wait or are carried out"};
  Queue programs_{resources_.programs, "programs that wait or run"};
  Queue dry_runs_{resources_.dry_runs, "dry runs that wait or run"};
};

}  // namespace bfly::control
