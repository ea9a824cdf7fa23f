// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/loaded_in_band.h"

#include <rte_cycles.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/core/tsc_hz.h"
#include "dataplane/in_band/in_band_memory.h"
#include "dataplane/programs/given_paths.h"
#include "dataplane/programs/registry.h"

namespace bfly::dataplane {
namespace {

uint64_t Now() { return rte_rdtsc(); }
double CyclesASecond() { return static_cast<double>(TscHz()); }

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedInBand>> LoadedInBand::Make(const Network& network,
                                                                 const FabricPlan& plan,
                                                                 RouteTable& routes,
                                                                 const LinkCapacity& capacity,
                                                                 const InBandTrunks& trunks) {
  std::optional<CandidatePaths> candidates;
  if (network.kind() != NetworkKind::kRandomlyWiredButterfly) {
    const absl::StatusOr<SwitchSettings> settings = SwitchSettings::Make(network);
    if (!settings.ok()) return settings.status();
    candidates.emplace(*settings);
  }
  const bool first = plan.first_stage == 0;
  const bool last = plan.last_stage == network.stages() - 1;
  if ((!first && trunks.upstream == nullptr) || (!last && trunks.downstream == nullptr)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "in_band: this data plane runs stages ", plan.first_stage, "-", plan.last_stage, " of 0-",
        network.stages() - 1, ", and no trunk leads to the others; give it one"));
  }
  return std::unique_ptr<LoadedInBand>(
      new LoadedInBand(network, plan, routes, capacity, std::move(candidates), trunks));
}

LoadedInBand::LoadedInBand(const Network& network, const FabricPlan& plan, RouteTable& routes,
                           const LinkCapacity& capacity, std::optional<CandidatePaths> candidates,
                           const InBandTrunks& trunks)
    : network_(network),
      routes_(routes),
      capacity_(capacity),
      candidates_(std::move(candidates)),
      disks_(candidates_.has_value() || plan.last_stage != network.stages() - 1
                 ? nullptr
                 : std::make_unique<DiskNodes>(network.rows())),
      inputs_(&Now),
      // A whole pass and its marker.
      outputs_(
          &Now,
          plan.last_stage == network.stages() - 1 ? size_t{MostMessages(network.rows())} + 1 : 0,
          disks_.get()),
      stages_(static_cast<size_t>(network.stages())),
      book_(network, routes),
      faults_(network) {
  // On a data server any two paths may meet on any link.
  const int first = candidates_.has_value() ? candidates_->first_collision_hop() : 0;
  for (int s = plan.first_stage; s <= plan.last_stage; ++s) {
    stages_[s] = std::make_unique<StageNodes>(
        network, s, s >= first && s < first + network.dimension(), capacity);
  }
  assembly_.emplace(network, plan, trunks, stages_, inputs_, outputs_, post_.orders());
  if (plan.first_stage != 0 || trunks.downstream == nullptr) return;
  post_.SetTrunk(trunks.downstream_name, plan.last_stage);
  runs_.emplace(post_);
}

absl::Status LoadedInBand::CheckReady() {
  if (assembly_->upstream() != nullptr) {
    return absl::FailedPreconditionError(
        "in_band: the inputs are at stage 0, which another data plane runs; ask that one");
  }
  absl::Status status = post_.CheckReady();
  if (status.ok() && given_up_ != nullptr) {
    book_.TakeBack(std::exchange(given_up_, nullptr)(), routes_);
  }
  return status;
}

absl::Status LoadedInBand::RunProgram(std::unique_ptr<Program> program,
                                      std::function<GivenCircuits()> done,
                                      const std::vector<Row>& inputs) {
  absl::Status status = post_.Run(std::move(program));
  if (status.ok()) return status;
  if (runs_.has_value()) runs_->MarkBroken();
  if (absl::IsUnavailable(status)) {
    // The workers have let go of the program.
    for (const Row input : inputs) book_.Restore(input, routes_);
  } else {
    given_up_ = std::move(done);
  }
  return status;
}

absl::Status LoadedInBand::BeginRun() {
  if (!runs_.has_value()) return absl::OkStatus();
  const absl::StatusOr<bool> forgot = runs_->Begin();
  if (forgot.ok() && *forgot) book_.CountNone();
  return forgot.status();
}

absl::Status LoadedInBand::CatchUp() {
  if (absl::Status status = BeginRun(); !status.ok()) return status;
  const GivenCircuits behind = book_.Behind();
  absl::Status status;
  if (!behind.empty()) {
    status =
        RunProgram(std::make_unique<SetGivenCircuits>(behind), [behind] { return behind; }, {});
  }
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

absl::StatusOr<InBandReport> LoadedInBand::SetUp(const std::vector<InBandRequest>& requests,
                                                 const ProgramParameters& program) {
  if (absl::Status status = CheckParameters(program, /*reads=*/false); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckFree(requests); !status.ok()) return status;
  return Run(program, CandidatesOf(*candidates_, requests));
}

absl::StatusOr<InBandReport> LoadedInBand::SetUpReads(const std::vector<InBandRead>& reads,
                                                      const ProgramParameters& program) {
  const bool choice = reads.empty() || reads[0].copies == 2;
  const absl::Status parameters = CheckParameters(program, /*reads=*/true);
  if (choice && !parameters.ok()) return parameters;
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckReads(reads); !status.ok()) return status;
  return Run(program, CandidatesOf(network_, reads));
}

absl::StatusOr<InBandReport> LoadedInBand::Run(const ProgramParameters& parameters,
                                               std::vector<Candidates> requests) {
  if (absl::Status status = CheckReady(); !status.ok()) return status;
  if (absl::Status status = CatchUp(); !status.ok()) return status;
  // Links of other data planes may be down without this data plane knowing it.
  const bool limited = capacity_.limited() || !faults_.empty() || runs_.has_value();
  auto program = MakeProgram(parameters, requests, routes_, limited);
  const CircuitProgram& ran = *program;
  const auto done = [this, &ran] {
    GivenCircuits circuits;
    for (const InBandPath& path : ran.Report(network_, CyclesASecond()).paths) {
      circuits.install.push_back({path.input, path.tag});
    }
    return circuits;
  };
  std::vector<Row> inputs;
  for (const Candidates& request : requests) inputs.push_back(request.input);
  if (absl::Status status = RunProgram(std::move(program), done, inputs); !status.ok()) {
    return status;
  }
  for (const Row input : inputs) book_.Settle(input);
  InBandReport report = ran.Report(network_, CyclesASecond());
  if (report.refusal.has_value()) {
    report.refusal->capacity = capacity_.at(network_.link_index(report.refusal->link));
  }
  return report;
}

absl::StatusOr<InBandReport> LoadedInBand::Release(const std::vector<Row>& inputs) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckReady(); !status.ok()) return status;
  InBandReport report;
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
    paths.push_back({input, tag});
    report.paths.push_back(
        {input, OutputOfTag(network_, tag), tag,
         candidates_.has_value() && candidates_->tag(input, OutputOfTag(network_, tag), 1) == tag
             ? InBandChoice::kPPrime
             : InBandChoice::kP});
  }
  if (absl::Status status = CatchUp(); !status.ok()) return status;
  const GivenCircuits done = {.release = paths, .install = {}};
  auto release = std::make_unique<SetGivenCircuits>(done, &routes_);
  const SetGivenCircuits& ran = *release;
  const absl::Status status = RunProgram(
      std::move(release), [done] { return done; }, inputs);
  if (!status.ok()) return status;
  for (const Row input : inputs) book_.Settle(input);
  report.install_messages = 2 * uint64_t{inputs.size()};
  report.install_steps = CountSteps(network_, paths);
  report.seconds = report.install_seconds = static_cast<double>(ran.cycles()) / CyclesASecond();
  return report;
}

absl::StatusOr<LoadedInBand::WalkSeconds> LoadedInBand::Walk(
    const std::vector<InBandRequest>& requests) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckReady(); !status.ok()) return status;
  if (absl::Status status = CheckTwoFold(); !status.ok()) return status;
  if (absl::Status begun = BeginRun(); !begun.ok()) return begun;
  std::vector<TaggedPath> paths;
  for (const auto& [input, output] : requests) {
    if (input >= network_.rows() || output >= network_.rows()) {
      return absl::InvalidArgumentError(absl::StrCat("requests: ", input, " -> ", output,
                                                     " is outside 0..", network_.rows() - 1));
    }
    for (const Tag tag : candidates_->tags(input, output)) paths.push_back({input, tag});
  }
  auto walk = std::make_unique<GivenPaths>(kWalkPass, std::move(paths));
  const GivenPaths& ran = *walk;
  const absl::Status status = RunProgram(std::move(walk), [] { return GivenCircuits(); }, {});
  if (!status.ok()) return status;
  const PassTimes& times = ran.times();
  return WalkSeconds{
      .forward = static_cast<double>(times.turned - times.begun) / CyclesASecond(),
      .backward = static_cast<double>(times.returned - times.turned) / CyclesASecond()};
}

std::vector<uint32_t> LoadedInBand::circuits_on_links() const {
  std::vector<uint32_t> all(network_.link_count());
  for (size_t s = 0; s < stages_.size(); ++s) {
    if (stages_[s] == nullptr) continue;
    const uint32_t first = network_.link_index({static_cast<int>(s), 0, 0});
    for (uint32_t l = 0; l < stages_[s]->links(); ++l) all[first + l] = stages_[s]->circuits(l);
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
