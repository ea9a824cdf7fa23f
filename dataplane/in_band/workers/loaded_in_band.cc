// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/workers/loaded_in_band.h"

#include <rte_cycles.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/in_band/collision_run.h"
#include "dataplane/in_band/minimum_run.h"
#include "dataplane/in_band/one_pass.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kRingSlots = 1024;
constexpr uint32_t kMaxThreshold = 254;

uint64_t Now() { return rte_rdtsc(); }
double CyclesASecond() { return static_cast<double>(rte_get_tsc_hz()); }

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
      book_(network, routes) {
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
    if (worker == nullptr) worker = std::make_unique<InBandWorker>(post_.orders());
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
    const absl::Status input =
        check("inputs", requests[i].input, input_used, [this](Row row) { return book_.busy(row); });
    if (!input.ok()) return input;
    const absl::Status output = check("outputs", requests[i].output, output_used,
                                      [this](Row row) { return book_.at_output(row) != 0; });
    if (!output.ok()) return output;
  }
  return absl::OkStatus();
}

absl::Status LoadedInBand::CatchUp() {
  std::vector<PassProbe> probes = book_.Behind();
  absl::Status status;
  if (!probes.empty()) status = post_.Run(std::make_unique<OnePass>(std::move(probes), nullptr));
  if (status.ok()) book_.CaughtUp();
  return status;
}

void LoadedInBand::NoteCircuit(Row input) {
  const std::lock_guard lock(mutex_);
  book_.Note(input);
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
  if (absl::Status status = post_.CheckReady(); !status.ok()) return status;
  if (absl::Status status = CheckFree(requests); !status.ok()) return status;
  if (absl::Status status = CatchUp(); !status.ok()) return status;
  auto run = std::make_unique<Protocol>(CandidatesOf(candidates_, requests), options..., routes_);
  const Protocol& ran = *run;
  if (absl::Status status = post_.Run(std::move(run)); !status.ok()) return status;
  for (const InBandRequest& request : requests) book_.Settle(request.input);
  return ran.Report(network_, CyclesASecond());
}

absl::StatusOr<InBandReport> LoadedInBand::Release(const std::vector<Row>& inputs) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = post_.CheckReady(); !status.ok()) return status;
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
    if (!book_.busy(input)) {
      return absl::NotFoundError(absl::StrCat("inputs[", i, "]: row ", input, " has no circuit"));
    }
    const Tag tag = book_.tag(input);
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
  if (absl::Status status = post_.Run(std::move(pass)); !status.ok()) return status;
  for (const Row input : inputs) book_.Settle(input);
  report.install_messages = 2 * uint64_t{inputs.size()};
  report.install_steps = CountSteps(network_, paths);
  report.seconds = report.install_seconds =
      static_cast<double>(ran.times().returned - ran.times().begun) / CyclesASecond();
  return report;
}

absl::StatusOr<LoadedInBand::WalkSeconds> LoadedInBand::Walk(
    const std::vector<InBandRequest>& requests) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = post_.CheckReady(); !status.ok()) return status;
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
  if (absl::Status status = post_.Run(std::move(pass)); !status.ok()) return status;
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
