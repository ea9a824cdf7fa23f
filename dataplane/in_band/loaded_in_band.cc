// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/loaded_in_band.h"

#include <rte_cycles.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/programs/collision.h"
#include "dataplane/programs/given_paths.h"
#include "dataplane/programs/minimum.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kProbeRingSlots = 1024;

uint64_t Now() { return rte_rdtsc(); }
double CyclesASecond() { return static_cast<double>(rte_get_tsc_hz()); }

// Stages whose probes one worker carries.
struct Run {
  int worker;
  int first_stage;
  int last_stage;
};

// Where rows share a stage, the worker of row 0 carries the probes of all its rows: the counts of a
// stage have one writer, and a marker that is the last in one ring is the last of its pass.
std::vector<Run> RunsOf(const Network& network, const FabricPlan& plan) {
  std::vector<Run> runs;
  for (int s = 0; s < network.stages(); ++s) {
    const int worker = plan.worker_of(s, 0);
    if (runs.empty() || runs.back().worker != worker) runs.push_back({worker, s, s});
    runs.back().last_stage = s;
  }
  return runs;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedInBand>> LoadedInBand::Make(const Network& network,
                                                                 const FabricPlan& plan,
                                                                 RouteTable& routes,
                                                                 const LinkCapacity& capacity) {
  std::optional<CandidatePaths> candidates;
  if (network.kind() != NetworkKind::kRandomlyWiredButterfly) {
    const absl::StatusOr<SwitchSettings> settings = SwitchSettings::Make(network);
    if (!settings.ok()) return settings.status();
    candidates.emplace(*settings);
  }
  if (plan.first_stage != 0 || plan.last_stage != network.stages() - 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "in_band: this data plane runs stages ", plan.first_stage, "-", plan.last_stage, " of 0-",
        network.stages() - 1, "; circuits are set up in band where one data plane runs them all"));
  }
  return std::unique_ptr<LoadedInBand>(
      new LoadedInBand(network, plan, routes, capacity, std::move(candidates)));
}

LoadedInBand::LoadedInBand(const Network& network, const FabricPlan& plan, RouteTable& routes,
                           const LinkCapacity& capacity, std::optional<CandidatePaths> candidates)
    : network_(network),
      routes_(routes),
      capacity_(capacity),
      candidates_(std::move(candidates)),
      disks_(candidates_.has_value() ? nullptr : std::make_unique<DiskCounts>(network.rows())),
      inputs_(&Now),
      // Two probes a row, and the marker.
      outputs_(&Now, 2 * size_t{network.rows()} + 1, disks_.get()),
      workers_(plan.lcores.size()),
      book_(network, routes),
      faults_(network) {
  // On a data server any two paths may meet on any link.
  const int first = candidates_.has_value() ? candidates_->first_collision_hop() : 0;
  for (int s = 0; s < network.stages(); ++s) {
    stages_.push_back(std::make_unique<StageCounts>(
        network, s, s >= first && s < first + network.dimension(), capacity));
  }
  ProbeRing* forward_in = nullptr;
  ProbeRing* backward_out = nullptr;
  const std::vector<Run> runs = RunsOf(network, plan);
  for (size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    InBandPart part;
    part.forward_in = forward_in;
    part.backward_out = backward_out;
    for (int s = run.first_stage; s <= run.last_stage; ++s) part.stages.push_back(stages_[s].get());
    if (i == 0) part.inputs = &inputs_;
    if (i + 1 == runs.size()) {
      part.outputs = &outputs_;
    } else {
      for (ProbeRing** ring : {&part.forward_out, &part.backward_in}) {
        rings_.push_back(std::make_unique<ProbeRing>(kProbeRingSlots));
        *ring = rings_.back().get();
      }
      forward_in = part.forward_out;
      backward_out = part.backward_in;
    }
    auto& worker = workers_[run.worker];
    if (worker == nullptr) worker = std::make_unique<InBandWorker>(post_.orders());
    worker->AddPart(std::move(part));
  }
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

void LoadedInBand::SetLinkUp(LinkId link, bool up) {
  const std::lock_guard lock(mutex_);
  faults_.SetLinkUp(link, up);
  const auto ports = static_cast<uint32_t>(network_.ports());
  stages_[link.stage]->SetLinkUp(link.row * ports + static_cast<uint32_t>(link.port), up);
}

absl::StatusOr<InBandReport> LoadedInBand::Collision(const std::vector<InBandRequest>& requests,
                                                     const CollisionOptions& options) {
  if (absl::Status status = CheckThreshold("c", options.c); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckFree(requests); !status.ok()) return status;
  return Choose<CollisionRun>(CandidatesOf(*candidates_, requests), options);
}

absl::StatusOr<InBandReport> LoadedInBand::Minimum(const std::vector<InBandRequest>& requests,
                                                   const MinimumOptions& options) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckFree(requests); !status.ok()) return status;
  return Choose<MinimumRun>(CandidatesOf(*candidates_, requests), options);
}

absl::StatusOr<InBandReport> LoadedInBand::ReadByCollision(const std::vector<InBandRead>& reads,
                                                           const CollisionOptions& options) {
  const bool choice = reads.empty() || reads[0].copies == 2;
  for (const auto& [field, value] : {std::pair{"c", options.c}, {"c_disk", options.c_disk}}) {
    const absl::Status status = CheckThreshold(field, value);
    if (choice && !status.ok()) return status;
  }
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckReads(reads); !status.ok()) return status;
  return Choose<CollisionRun>(CandidatesOf(network_, reads), options);
}

absl::StatusOr<InBandReport> LoadedInBand::ReadByMinimum(const std::vector<InBandRead>& reads,
                                                         const MinimumOptions& options) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckReads(reads); !status.ok()) return status;
  if (!reads.empty() && reads[0].copies == 1) {
    return Choose<CollisionRun>(CandidatesOf(network_, reads), CollisionOptions{});
  }
  return Choose<MinimumRun>(CandidatesOf(network_, reads), options);
}

template <class Protocol, class Options>
absl::StatusOr<InBandReport> LoadedInBand::Choose(std::vector<Candidates> requests,
                                                  const Options& options) {
  if (absl::Status status = post_.CheckReady(); !status.ok()) return status;
  if (absl::Status status = CatchUp(); !status.ok()) return status;
  auto run = std::make_unique<Protocol>(requests, options, routes_,
                                        capacity_.limited() || !faults_.empty());
  const Protocol& ran = *run;
  if (absl::Status status = post_.Run(std::move(run)); !status.ok()) return status;
  for (const Candidates& request : requests) book_.Settle(request.input);
  InBandReport report = ran.Report(network_, CyclesASecond());
  if (report.refusal.has_value()) {
    report.refusal->capacity = capacity_.at(network_.link_index(report.refusal->link));
  }
  return report;
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
    report.paths.push_back(
        {input, OutputOfTag(network_, tag), tag,
         candidates_.has_value() && candidates_->tag(input, OutputOfTag(network_, tag), 1) == tag
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
  if (absl::Status status = CheckTwoFold(); !status.ok()) return status;
  std::vector<PassProbe> probes;
  for (const auto& [input, output] : requests) {
    if (input >= network_.rows() || output >= network_.rows()) {
      return absl::InvalidArgumentError(absl::StrCat("requests: ", input, " -> ", output,
                                                     " is outside 0..", network_.rows() - 1));
    }
    for (const Tag tag : candidates_->tags(input, output)) probes.push_back({input, tag});
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

std::vector<uint32_t> LoadedInBand::circuits_at_disks() const {
  std::vector<uint32_t> all;
  for (Row disk = 0; disks_ != nullptr && disk < network_.rows(); ++disk) {
    all.push_back(disks_->circuits(disk));
  }
  return all;
}

}  // namespace bfly::dataplane
