// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/workers/loaded_in_band.h"

#include <rte_cycles.h>
#include <rte_pause.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "dataplane/in_band/collision_run.h"
#include "dataplane/in_band/minimum_run.h"
#include "dataplane/in_band/one_pass.h"

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kRingSlots = 1024;
constexpr uint32_t kMaxThreshold = 254;
constexpr std::chrono::seconds kNoProgress{5};
// An answer often takes no longer than this, and a sleep would.
constexpr std::chrono::microseconds kSpin{100};
constexpr std::chrono::microseconds kSleep{20};

uint64_t Now() { return rte_rdtsc(); }
double CyclesASecond() { return static_cast<double>(rte_get_tsc_hz()); }

Tag FromWire(WireTag tag, int hops) { return tag >> (64 - hops); }

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedInBand>> LoadedInBand::Make(const Network& network,
                                                                 const FabricPlan& plan,
                                                                 RouteTable& routes) {
  const absl::StatusOr<SwitchSettings> settings = SwitchSettings::Make(network);
  if (!settings.ok()) return settings.status();
  if (plan.first_stage != 0 || plan.last_stage != network.stages() - 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "in_band: this data plane runs stages ", plan.first_stage, "-", plan.last_stage, " of 0-",
        network.stages() - 1, "; circuits are set up in band where one data plane runs them all"));
  }
  return std::unique_ptr<LoadedInBand>(new LoadedInBand(network, plan, routes, *settings));
}

LoadedInBand::LoadedInBand(const Network& network, const FabricPlan& plan, RouteTable& routes,
                           const SwitchSettings& settings)
    : network_(network),
      routes_(routes),
      candidates_(settings),
      inputs_(&Now),
      // Two probes a row, and the marker.
      outputs_(&Now, 2 * size_t{network.rows()} + 1),
      workers_(plan.lcores.size()),
      counted_(network.rows()),
      standing_(network.rows()),
      at_output_(network.rows()) {
  const int first = candidates_.first_collision_hop();
  for (int s = 0; s < network.stages(); ++s) {
    stages_.push_back(
        std::make_unique<StageCounts>(network, s, s >= first && s < first + network.dimension()));
  }
  ProbeRing* forward_in = nullptr;
  ProbeRing* backward_out = nullptr;
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    const SegmentPlan& segment = plan.segments[i];
    InBandPart part;
    part.forward_in = forward_in;
    part.backward_out = backward_out;
    for (int h = segment.first_hop; h < segment.first_hop + segment.hops; ++h) {
      part.stages.push_back(stages_[h].get());
    }
    if (i == 0) part.inputs = &inputs_;
    if (i + 1 == plan.segments.size()) {
      part.outputs = &outputs_;
    } else {
      for (ProbeRing** ring : {&part.forward_out, &part.backward_in}) {
        rings_.push_back(std::make_unique<ProbeRing>(kRingSlots));
        *ring = rings_.back().get();
      }
      forward_in = part.forward_out;
      backward_out = part.backward_in;
    }
    auto& worker = workers_[segment.worker];
    if (worker == nullptr) worker = std::make_unique<InBandWorker>(orders_);
    worker->AddPart(std::move(part));
  }
}

absl::Status LoadedInBand::CheckFree(const std::vector<InBandRequest>& requests) const {
  std::vector<bool> input_used(network_.rows()), output_used(network_.rows());
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto check = [&](const char* field, Row row, std::vector<bool>& used,
                           const auto& is_busy) -> absl::Status {
      const std::string at = absl::StrCat(field, "[", i, "]: ", row);
      if (row >= network_.rows()) {
        return absl::InvalidArgumentError(absl::StrCat(at, " is outside 0..", network_.rows() - 1));
      }
      if (used[row]) return absl::InvalidArgumentError(absl::StrCat(at, " is used twice"));
      used[row] = true;
      if (is_busy(row)) {
        return absl::FailedPreconditionError(absl::StrCat(at, " is busy with a circuit"));
      }
      return absl::OkStatus();
    };
    const absl::Status input = check("inputs", requests[i].input, input_used,
                                     [this](Row row) { return standing_[row] != 0; });
    if (!input.ok()) return input;
    const absl::Status output = check("outputs", requests[i].output, output_used,
                                      [this](Row row) { return at_output_[row] != 0; });
    if (!output.ok()) return output;
  }
  return absl::OkStatus();
}

absl::Status LoadedInBand::Prepare() {
  if (stopping_.load(std::memory_order_acquire)) {
    return absl::FailedPreconditionError("the fabric is unloaded");
  }
  if (current_ == nullptr || orders_.finished.load(std::memory_order_acquire) == current_.get()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "in_band: an exchange begun earlier has not ended; a worker hangs");
}

absl::Status LoadedInBand::CatchUp() {
  if (behind_.empty()) return absl::OkStatus();
  std::sort(behind_.begin(), behind_.end());
  behind_.erase(std::unique(behind_.begin(), behind_.end()), behind_.end());
  std::vector<PassProbe> probes;
  for (const Row input : behind_) {
    if (counted_[input] == standing_[input]) continue;
    const auto add = [&](WireTag circuit, ProbeKind kind) {
      if (circuit == 0) return;
      probes.push_back({input, FromWire(circuit, network_.hops()), kind});
    };
    add(counted_[input], ProbeKind::kRelease);
    add(standing_[input], ProbeKind::kInstall);
  }
  auto pass = std::make_unique<OnePass>(std::move(probes), nullptr);
  current_ = std::move(pass);
  if (absl::Status status = Run(*current_); !status.ok()) return status;
  for (const Row input : behind_) counted_[input] = standing_[input];
  behind_.clear();
  return absl::OkStatus();
}

absl::Status LoadedInBand::Run(Exchange& exchange) {
  // The one before may have had the same address.
  orders_.finished.store(nullptr, std::memory_order_relaxed);
  orders_.posted.store(&exchange, std::memory_order_release);
  orders_.active.store(true, std::memory_order_release);
  const Clock::time_point start = Clock::now();
  Clock::time_point moved = start;
  uint64_t passes = orders_.passes.load(std::memory_order_relaxed);
  while (orders_.finished.load(std::memory_order_acquire) != &exchange) {
    if (stopping_.load(std::memory_order_acquire)) {
      return absl::FailedPreconditionError(
          "the fabric was unloaded before all circuits were set up");
    }
    const Clock::time_point now = Clock::now();
    if (const uint64_t p = orders_.passes.load(std::memory_order_relaxed); p != passes) {
      passes = p;
      moved = now;
    } else if (now - moved > kNoProgress) {
      return absl::DeadlineExceededError(
          absl::StrCat("in_band: no worker moved a probe for ", kNoProgress.count(), " s"));
    }
    if (now - start < kSpin) {
      rte_pause();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
  orders_.active.store(false, std::memory_order_relaxed);
  return absl::OkStatus();
}

// Takes over what an exchange did at an input.
void LoadedInBand::Settle(Row input) {
  NoteCircuitLocked(input);
  counted_[input] = standing_[input];
}

void LoadedInBand::NoteCircuitLocked(Row input) {
  const WireTag now = routes_.circuit(input);
  const auto output_of = [this](WireTag circuit) {
    return OutputOfTag(network_, FromWire(circuit, network_.hops()));
  };
  if (standing_[input] != 0) --at_output_[output_of(standing_[input])];
  if (now != 0) ++at_output_[output_of(now)];
  standing_[input] = now;
}

void LoadedInBand::NoteCircuit(Row input) {
  const std::lock_guard lock(mutex_);
  NoteCircuitLocked(input);
  if (counted_[input] != standing_[input]) behind_.push_back(input);
}

absl::StatusOr<InBandReport> LoadedInBand::Collision(const std::vector<InBandRequest>& requests,
                                                     const CollisionOptions& options) {
  if (options.c < 1 || options.c > kMaxThreshold) {
    return absl::InvalidArgumentError(
        absl::StrCat("c: ", options.c, " is outside 1..", kMaxThreshold));
  }
  return Choose<CollisionRun>(requests, options);
}

absl::StatusOr<InBandReport> LoadedInBand::Minimum(const std::vector<InBandRequest>& requests) {
  return Choose<MinimumRun>(requests);
}

template <class Protocol, class... Options>
absl::StatusOr<InBandReport> LoadedInBand::Choose(const std::vector<InBandRequest>& requests,
                                                  const Options&... options) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = Prepare(); !status.ok()) return status;
  if (absl::Status status = CheckFree(requests); !status.ok()) return status;
  if (absl::Status status = CatchUp(); !status.ok()) return status;
  auto run = std::make_unique<Protocol>(candidates_, requests, options..., routes_);
  const Protocol& ran = *run;
  current_ = std::move(run);
  if (absl::Status status = Run(*current_); !status.ok()) return status;
  for (const InBandRequest& request : requests) Settle(request.input);
  return ran.Report(network_, CyclesASecond());
}

absl::StatusOr<InBandReport> LoadedInBand::Release(const std::vector<Row>& inputs) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = Prepare(); !status.ok()) return status;
  InBandReport report;
  std::vector<PassProbe> probes;
  std::vector<TaggedPath> paths;
  std::vector<bool> used(network_.rows());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Row input = inputs[i];
    if (input >= network_.rows() || used[input]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "inputs[", i, "]: ", input,
          input >= network_.rows() ? absl::StrCat(" is outside 0..", network_.rows() - 1)
                                   : " is used twice"));
    }
    used[input] = true;
    if (standing_[input] == 0) {
      return absl::NotFoundError(absl::StrCat("inputs[", i, "]: row ", input, " has no circuit"));
    }
    const Tag tag = FromWire(standing_[input], network_.hops());
    probes.push_back({input, tag, ProbeKind::kRelease});
    paths.push_back({input, tag});
    report.paths.push_back({input, OutputOfTag(network_, tag), tag,
                            candidates_.tag(input, OutputOfTag(network_, tag), 1) == tag
                                ? InBandChoice::kPPrime
                                : InBandChoice::kP});
  }
  if (absl::Status status = CatchUp(); !status.ok()) return status;
  auto pass = std::make_unique<OnePass>(std::move(probes), &routes_);
  const OnePass& ran = *pass;
  current_ = std::move(pass);
  if (absl::Status status = Run(*current_); !status.ok()) return status;
  for (const Row input : inputs) Settle(input);
  report.install_messages = 2 * uint64_t{inputs.size()};
  report.install_steps = CountSteps(network_, paths);
  report.seconds = report.install_seconds =
      static_cast<double>(ran.times().returned - ran.times().begun) / CyclesASecond();
  return report;
}

absl::StatusOr<LoadedInBand::WalkSeconds> LoadedInBand::Walk(
    const std::vector<InBandRequest>& requests) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = Prepare(); !status.ok()) return status;
  std::vector<PassProbe> probes;
  for (const auto& [input, output] : requests) {
    if (input >= network_.rows() || output >= network_.rows()) {
      return absl::InvalidArgumentError(absl::StrCat("requests: ", input, " -> ", output,
                                                     " is outside 0..", network_.rows() - 1));
    }
    for (const Tag tag : candidates_.tags(input, output)) probes.push_back({input, tag});
  }
  auto pass = std::make_unique<OnePass>(std::move(probes), nullptr);
  const OnePass& ran = *pass;
  current_ = std::move(pass);
  if (absl::Status status = Run(*current_); !status.ok()) return status;
  const PassTimes& times = ran.times();
  return WalkSeconds{
      .forward = static_cast<double>(times.turned - times.begun) / CyclesASecond(),
      .backward = static_cast<double>(times.returned - times.turned) / CyclesASecond()};
}

std::vector<uint32_t> LoadedInBand::circuits_on_links() const {
  std::vector<uint32_t> all;
  all.reserve(network_.link_count());
  for (const auto& stage : stages_) {
    for (uint32_t l = 0; l < stage->links(); ++l) all.push_back(stage->circuits(l));
  }
  return all;
}

}  // namespace bfly::dataplane
