// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tests/control/service_fixture.h"

namespace bfly::control {

// An agent that holds what a test sets, and can take its time to load.
class ScriptedAgent final : public v1::Agent::Service {
 public:
  ScriptedAgent(const std::string& directory, const std::string& name)
      : server_(MustStart(SocketAddress(directory, name), {this})) {}
  ~ScriptedAgent() override {
    {
      const std::lock_guard lock(mutex);
      may_load = true;
      answered_looks = kAll;
      held_look = 0;
    }
    changed.notify_all();
  }

  grpc::Status VerifyFabric(grpc::ServerContext*, const v1::AgentFabricRequest*,
                            v1::AgentVerifyResponse*) override {
    std::this_thread::sleep_for(verify_time.load());
    return grpc::Status::OK;
  }
  grpc::Status LoadFabric(grpc::ServerContext*, const v1::AgentFabricRequest* request,
                          v1::AgentLoadResponse* response) override {
    std::unique_lock lock(mutex);
    if (!may_load) {
      // The caller gets a timeout, and the load goes on nevertheless.
      lost_ = std::thread([this, topology = request->topology()] {
        std::unique_lock late(mutex);
        changed.wait(late, [this] { return may_load; });
        *state.mutable_topology() = topology;
        state.set_loaded(true);
        state.set_revision(state.revision() + 1);
      });
      return {grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"};
    }
    *state.mutable_topology() = request->topology();
    state.set_loaded(true);
    state.set_revision(state.revision() + 1);
    response->set_revision(state.revision());
    return grpc::Status::OK;
  }
  grpc::Status UnloadFabric(grpc::ServerContext*, const v1::AgentUnloadRequest*,
                            v1::AgentUnloadResponse*) override {
    const std::lock_guard lock(mutex);
    if (!unload_answer.ok()) return unload_answer;
    if (!state.loaded()) return {grpc::StatusCode::FAILED_PRECONDITION, "nothing is loaded"};
    state.set_loaded(false);
    state.clear_topology();
    state.set_revision(state.revision() + 1);
    ++unloads;
    return grpc::Status::OK;
  }
  grpc::Status UpdateCircuits(grpc::ServerContext*, const v1::AgentUpdateRequest*,
                              v1::AgentUpdateResponse* response) override {
    const std::lock_guard lock(mutex);
    if (!update_answer.ok()) return update_answer;
    state.set_revision(state.revision() + 1);
    response->set_revision(state.revision());
    return grpc::Status::OK;
  }
  grpc::Status SetLinks(grpc::ServerContext*, const v1::AgentLinksRequest* request,
                        v1::AgentLinksResponse*) override {
    const std::lock_guard lock(mutex);
    grpc::Status answer;
    if (!links_answers.empty()) {
      answer = links_answers.front();
      links_answers.pop_front();
    }
    if (answer.ok()) *state.mutable_link_changes() = request->changes();
    return answer;
  }
  grpc::Status GetState(grpc::ServerContext*, const v1::AgentStateRequest* request,
                        v1::AgentState* response) override {
    std::unique_lock lock(mutex);
    *response = state;
    response->mutable_status()->set_state(state.loaded() ? v1::DataPlaneStatus::RUNNING
                                                         : v1::DataPlaneStatus::IDLE_STATE);
    if (!request->topology()) {
      ++looks;
      changed.notify_all();
      changed.wait(lock,
                   [this, look = looks] { return look <= answered_looks && look != held_look; });
    }
    response->set_boot_id("scripted");
    response->set_owner("the only one");
    response->set_caller_owns(true);
    return grpc::Status::OK;
  }
  grpc::Status GetCounters(grpc::ServerContext*, const v1::AgentCountersRequest*,
                           v1::AgentCounters* response) override {
    const std::lock_guard lock(mutex);
    *response = counters;
    return grpc::Status::OK;
  }
  grpc::Status ReadLinks(grpc::ServerContext*, const v1::AgentReadLinksRequest*,
                         v1::AgentLinkReading* response) override {
    const std::lock_guard lock(mutex);
    *response = reading;
    return grpc::Status::OK;
  }
  void AnswerLooks(int count) {
    const std::lock_guard lock(mutex);
    answered_looks = count;
    held_look = 0;
    changed.notify_all();
  }
  // Later looks wait until they are answered. Returns how many came before.
  int HoldLooks() {
    const std::lock_guard lock(mutex);
    answered_looks = looks;
    return looks;
  }
  // The next look waits, and no other. Returns its number.
  int HoldOneLook() {
    const std::lock_guard lock(mutex);
    changed.notify_all();
    return held_look = looks + 1;
  }
  // Waits until so many looks have come.
  bool Comes(int look) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::minutes(2), [&] { return looks >= look; });
  }
  void JoinLost() {
    if (lost_.joinable()) lost_.join();
  }

  std::atomic<std::chrono::milliseconds> verify_time{};
  std::mutex mutex;
  std::condition_variable changed;
  bool may_load = true;  // mutex
  int unloads = 0;       // mutex
  static constexpr int kAll = std::numeric_limits<int>::max();
  int looks = 0;               // mutex: that came
  int answered_looks = kAll;   // mutex: the first so many looks are answered, later ones wait
  int held_look = 0;           // mutex: waits until another one is held
  v1::AgentState state;        // mutex
  grpc::Status update_answer;  // mutex: of changes of circuits
  grpc::Status unload_answer;  // mutex
  // mutex: to the next changes of links, in turn; OK after these
  std::deque<grpc::Status> links_answers;
  v1::AgentCounters counters;    // mutex
  v1::AgentLinkReading reading;  // mutex

 private:
  std::thread lost_;
  std::unique_ptr<GrpcServer> server_;
};

}  // namespace bfly::control
