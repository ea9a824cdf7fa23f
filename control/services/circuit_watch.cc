// SPDX-License-Identifier: Apache-2.0
// Circuits.Watch tells what stands, then every change. What a slow client has not been told yet is
// kept once for each input row, however often the row changes.
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "control/services/circuit_filter.h"
#include "control/services/circuit_messages.h"
#include "control/services/circuits_service.h"
#include "control/services/written_stream.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

// Circuits in one message.
constexpr int kMaxChangesInMessage = 1000;

class WatchStream final : public WrittenStream, public CircuitListener {
 public:
  WatchStream(Controller& controller, WatchWriter& writer, CallDesk& desk,
              grpc::CallbackServerContext* context, const grpc::ByteBuffer& bytes)
      : WrittenStream(writer, desk, context, controller.resources().watchers),
        controller_(controller) {
    Resource& watchers = controller_.resources().watchers;
    counted_ = watchers.Take(1, share_);
    absl::Status status =
        counted_ ? absl::OkStatus() : watchers.Exhausted("watchers", "close others first", share_);
    v1::WatchRequest request;
    if (status.ok()) status = ParseShort(bytes, &request);
    if (status.ok()) {
      filter_ = FilterOf(request);
      status = controller_.intent().Watch(
          this, [this](const Network& network) { return Check(network); });
      watching_ = status.ok();
    }
    if (!status.ok()) End(status);
  }

  void OnFabric(std::shared_ptr<const Network> network,
                const std::vector<StandingCircuit>& standing) override {
    const std::lock_guard lock(mutex_);
    reset_ = network_ != nullptr;
    complete_told_ = false;
    network_ = std::move(network);
    waiting_.clear();
    told_.clear();
    skipped_ = 0;
    if (network_ == nullptr) {
      EndLocked(absl::FailedPreconditionError("the fabric was unloaded; nothing is left to watch"));
    } else if (!Check(*network_).ok()) {
      EndLocked(absl::FailedPreconditionError(
          "another fabric was loaded, which the filters do not fit; watch anew"));
    } else {
      for (const StandingCircuit& circuit : standing) NoteLocked(circuit);
      WakeLocked();
    }
  }

  void OnChange(const CircuitChange& change) override {
    const std::lock_guard lock(mutex_);
    for (const StandingCircuit& circuit : change.install) NoteLocked(circuit);
    for (const Row input : change.remove) NoteLocked(input, std::nullopt);
    WakeLocked();
  }

 private:
  void Leave() override {
    if (watching_) controller_.intent().Unwatch(this);
    if (counted_) controller_.resources().watchers.Give();
  }
  absl::Status Check(const Network& network) const {
    FieldErrors errors;
    CheckFilter(filter_, network, errors);
    return errors.ToStatus();
  }
  void NoteLocked(const StandingCircuit& circuit) {
    const bool wanted = Matches(filter_, *network_, circuit);
    NoteLocked(circuit.path.input, wanted ? std::optional(circuit) : std::nullopt);
  }
  void NoteLocked(Row input, std::optional<StandingCircuit> circuit) {
    const auto waits = waiting_.find(input);
    if (waits != waiting_.end() && IsSame(waits->second, circuit)) return;
    if (waits != waiting_.end()) {
      ++skipped_;
      waits->second = std::move(circuit);
    } else if (circuit.has_value() || told_.count(input) != 0) {
      waiting_.emplace(input, std::move(circuit));
    }
  }
  // Whether a client sees the same circuit in both: on the same path, broken at the same links.
  static bool IsSame(const std::optional<StandingCircuit>& a,
                     const std::optional<StandingCircuit>& b) {
    if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
    return a->id == b->id && a->path == b->path && a->broken == b->broken;
  }
  void WakeLocked() {
    if (waiting_.empty() && complete_told_ && !reset_) return;
    Wake();
  }

  std::optional<grpc::ByteBuffer> NextLocked() override {
    v1::WatchResponse message;
    int circuits = 0;
    while (!waiting_.empty() && circuits < kMaxChangesInMessage) {
      const auto [input, now] = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      const auto before = told_.find(input);
      if (before != told_.end() && now.has_value() && before->second.id == now->id) {
        if (IsSame(before->second, now)) continue;
        FillCircuit(*network_, *now, message.add_changed());
        before->second = *now;
        ++circuits;
        continue;
      }
      if (before != told_.end()) {
        FillCircuit(*network_, before->second, message.add_removed());
        told_.erase(before);
        ++circuits;
      }
      if (now.has_value()) {
        FillCircuit(*network_, *now, message.add_added());
        told_.emplace(input, *now);
        ++circuits;
      }
    }
    if (circuits == 0 && complete_told_ && !reset_) return std::nullopt;
    message.set_reset(std::exchange(reset_, false));
    message.set_skipped(std::exchange(skipped_, 0));
    message.set_complete(waiting_.empty());
    complete_told_ = message.complete();
    return Serialize(message);
  }

  Controller& controller_;
  CircuitFilter filter_;  // does not change once the stream watches
  bool counted_ = false;  // among the watchers
  bool watching_ = false;

  // What follows needs mutex_.
  std::shared_ptr<const Network> network_;
  std::map<Row, std::optional<StandingCircuit>> waiting_;  // not told yet: now at this input
  std::unordered_map<Row, StandingCircuit> told_;          // what the client knows of
  uint64_t skipped_ = 0;
  bool reset_ = false;
  bool complete_told_ = false;
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* CircuitsService::Watch(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer& bytes) {
  return new WatchStream(controller_, writer_, desk(), context, bytes);
}

}  // namespace bfly::control
