// SPDX-License-Identifier: Apache-2.0
// Circuits that come and go on a running fabric. Everything that is due goes out in one message.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/churn_run.h"
#include "control/cli/circuit_list.h"
#include "control/cli/circuit_stream.h"
#include "control/cli/client.h"
#include "control/cli/terminal.h"
#include "control/cli/text.h"
#include "dataplane/runtime/elapsed.h"
#include "topologies/network.h"

namespace bfly::control {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kNap{20};   // between two looks for a signal
constexpr std::chrono::seconds kLastAnswer{5};  // how long an answer is awaited after a signal

// Remembers a signal that asks to end, so that it can be asked for repeatedly.
class StopSignal {
 public:
  bool came() {
    if (!at_ && Interrupted(signals_)) at_ = Clock::now();
    return at_.has_value();
  }
  bool came_long_ago() { return came() && Clock::now() - *at_ > kLastAnswer; }

 private:
  SignalReader signals_;
  std::optional<Clock::time_point> at_;
};

// The circuits that this churn has set up on a running fabric, by input row.
class LiveTarget {
 public:
  LiveTarget(const Common& common, const v1::DescribeResponse& network, const ChurnCommand& command,
             StopSignal& stop)
      : common_(common),
        rows_(network.rows()),
        hops_(static_cast<int>(network.dilation())),
        ports_(std::max(network.multiplicity(), 1u) * kDirections),
        protocol_(command.protocol),
        seed_(command.churn.seed),
        stop_(stop),
        stream_(NewStream()),
        id_(network.rows()) {}

  absl::StatusOr<std::vector<ChurnAnswer>> Execute(const std::vector<ChurnStep>& steps) {
    v1::CircuitOperations operations;
    for (const ChurnStep& step : steps) {
      if (step.set_up) {
        v1::SetUpRequest* set_up = operations.add_operations()->mutable_set_up();
        set_up->set_input(step.input);
        set_up->set_output(step.output);
        set_up->set_protocol(protocol_);
        if (!protocol_.empty()) set_up->set_seed(seed_);
      } else {
        operations.add_operations()->mutable_release()->set_id(id_[step.input]);
      }
    }
    const auto results = stream_->Execute(operations);
    if (!results.ok()) {
      lost_ = steps.size();
      return results.status();
    }
    std::vector<ChurnAnswer> answers;
    for (size_t i = 0; i < steps.size(); ++i) {
      answers.push_back(Learn(steps[i], results->results(static_cast<int>(i))));
    }
    return answers;
  }

  // Also works after an error; then it opens a new stream.
  absl::Status ReleaseAll() {
    if (stream_->is_over()) stream_ = NewStream();
    std::vector<ChurnStep> steps;
    for (Row input = 0; input < rows_; ++input) {
      if (id_[input] != 0) steps.push_back({.set_up = false, .input = input});
      if (steps.size() < kMaxChurnSteps && (input + 1 < rows_ || steps.empty())) continue;
      const auto answers = Execute(steps);
      if (!answers.ok()) return answers.status();
      for (const ChurnAnswer& answer : *answers) {
        if (!answer.ok() && !absl::IsNotFound(answer.status())) return answer.status();
      }
      steps.clear();
    }
    return absl::OkStatus();
  }
  size_t standing() const {
    return id_.size() - static_cast<size_t>(std::count(id_.begin(), id_.end(), 0));
  }
  // The number of operations that have no answer.
  size_t lost() const { return lost_; }

 private:
  std::unique_ptr<CircuitStream> NewStream() {
    return std::make_unique<CircuitStream>(common_, [this] { return stop_.came_long_ago(); });
  }
  ChurnAnswer Learn(const ChurnStep& step, const v1::CircuitResult& result) {
    const absl::Status status =
        WithAdvice(absl::Status(static_cast<absl::StatusCode>(result.code()), result.message()));
    if (!step.set_up) {
      if (status.ok() || absl::IsNotFound(status)) id_[step.input] = 0;
      return status.ok() ? ChurnAnswer(ChurnPath()) : status;
    }
    if (!status.ok()) return status;
    id_[step.input] = result.circuit().id();
    const auto& rows = result.circuit().rows();
    const std::vector<uint32_t> ports = PortsOf(result.circuit());
    if (rows.size() != hops_ + 1 || ports.size() != static_cast<size_t>(hops_) ||
        std::any_of(rows.begin(), rows.end(), [this](Row row) { return row >= rows_; }) ||
        std::any_of(ports.begin(), ports.end(), [this](uint32_t port) { return port >= ports_; })) {
      return absl::AbortedError("another network was loaded meanwhile");
    }
    return ChurnPath({rows.begin(), rows.end()}, ports);
  }
  // The port of every hop. Where a direction has one port, the bits of the tag say them.
  std::vector<uint32_t> PortsOf(const v1::Circuit& circuit) const {
    if (ports_ > kDirections) return {circuit.ports().begin(), circuit.ports().end()};
    std::vector<uint32_t> ports;
    for (const char bit : circuit.tag()) {
      if (bit != ' ') ports.push_back(bit == '1');
    }
    return ports;
  }

  const Common& common_;
  const Row rows_;
  const int hops_;        // of every path
  const uint32_t ports_;  // links that leave a node
  const std::string protocol_;
  const uint64_t seed_;
  StopSignal& stop_;
  std::unique_ptr<CircuitStream> stream_;
  std::vector<uint64_t> id_;  // 0: the row has no circuit of this churn
  size_t lost_ = 0;
};

}  // namespace

absl::StatusOr<v1::ChurnReport> RunLiveChurn(ChurnCommand command, const Common& common) {
  StopSignal stop;  // before gRPC starts threads
  auto fabric = v1::Fabric::NewStub(Connect(common));
  v1::DescribeRequest request;
  v1::DescribeResponse network;
  absl::Status status = Call(fabric.get(), &v1::Fabric::Stub::Describe, request, &network, common);
  if (!status.ok()) return status;
  auto adversary = ReadAdversary(command.adversary, network.rows());
  if (!adversary.ok()) return adversary.status();
  command.churn.adversary = *std::move(adversary);
  const absl::StatusOr<v1::ListResponse> others = ListCircuits({}, common);
  if (!others.ok()) return others.status();
  for (const v1::Circuit& circuit : others->circuits()) {
    command.churn.inputs_taken.push_back(circuit.input());
    command.churn.outputs_taken.push_back(circuit.output());
  }
  const auto stages = static_cast<int>(network.stages());
  command.churn.ports = static_cast<int>(std::max(network.multiplicity(), 1u)) * kDirections;
  command.churn.straight_is_free = network.kind() == KindName(NetworkKind::kHypercube);
  LiveTarget live(common, network, command, stop);
  const auto start = Clock::now();
  const auto told = [&](const ChurnReport& report, double seconds) {
    v1::ChurnReport message = ToMessage(report, seconds);
    message.set_others(static_cast<uint64_t>(others->circuits_size()));
    return message;
  };
  double shown = 0;
  const auto wait = [&](double at, const ChurnReport& report) -> std::optional<double> {
    for (;;) {
      const double now = dataplane::SecondsSince(start);
      if (now - shown >= command.interval) {
        shown = now;
        v1::ChurnReport message = told(report, now);
        message.set_seconds(std::max(report.seconds, std::min(now, at)));  // nothing came since
                                                                           // then
        if (!common.json) {
          PrintChurnLine(message);
        } else if (command.lines && !PrintJsonLine(message).ok()) {
          return std::nullopt;  // nobody reads the output any more
        }
      }
      if (stop.came()) return std::nullopt;
      if (now >= at) return now;
      std::this_thread::sleep_for(
          std::min(std::chrono::duration<double>(at - now), std::chrono::duration<double>(kNap)));
    }
  };
  const ChurnTarget target{
      .execute = [&](const std::vector<ChurnStep>& steps) { return live.Execute(steps); },
      .wait = wait};
  const auto report = RunChurn(network.rows(), stages, command.churn, target);
  const double seconds = dataplane::SecondsSince(start);
  status = live.ReleaseAll();
  if (report.ok() && status.ok()) return told(*report, seconds);
  std::string why(report.ok() ? status.message() : report.status().message());
  if (live.standing() != 0)
    absl::StrAppend(&why, "\n  ", live.standing(), " of its circuits stand");
  if (live.lost() != 0) {
    absl::StrAppend(&why, "\n  the last ", live.lost(),
                    " operations got no answer; `bfly circuit list` shows what stands");
  }
  return absl::Status(report.ok() ? status.code() : report.status().code(), why);
}

}  // namespace bfly::control
