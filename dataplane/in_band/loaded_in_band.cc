// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/loaded_in_band.h"

#include <rte_cycles.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/programs/given_paths.h"
#include "dataplane/programs/registry.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kMessageRingSlots = 1024;

uint64_t Now() { return rte_rdtsc(); }
double CyclesASecond() { return static_cast<double>(rte_get_tsc_hz()); }

// Stages whose messages one worker carries.
struct StageRun {
  int worker;
  int first_stage;
  int last_stage;
};

// Where rows share a stage, the worker of row 0 carries the messages of all its rows: the counts of
// a stage have one writer, and a marker that is the last in one ring is the last of its pass.
std::vector<StageRun> RunsOf(const Network& network, const FabricPlan& plan) {
  std::vector<StageRun> runs;
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
      disks_(candidates_.has_value() ? nullptr : std::make_unique<DiskNodes>(network.rows())),
      inputs_(&Now),
      // Two messages a row, and the marker.
      outputs_(&Now, 2 * size_t{network.rows()} + 1, disks_.get()),
      workers_(plan.lcores.size()),
      book_(network, routes),
      faults_(network) {
  // On a data server any two paths may meet on any link.
  const int first = candidates_.has_value() ? candidates_->first_collision_hop() : 0;
  for (int s = 0; s < network.stages(); ++s) {
    stages_.push_back(std::make_unique<StageNodes>(
        network, s, s >= first && s < first + network.dimension(), capacity));
  }
  MessageRing* forward_in = nullptr;
  MessageRing* backward_out = nullptr;
  const std::vector<StageRun> runs = RunsOf(network, plan);
  for (size_t i = 0; i < runs.size(); ++i) {
    const StageRun& run = runs[i];
    InBandPart part;
    part.forward_in = forward_in;
    part.backward_out = backward_out;
    for (int s = run.first_stage; s <= run.last_stage; ++s) part.stages.push_back(stages_[s].get());
    if (i == 0) part.inputs = &inputs_;
    if (i + 1 == runs.size()) {
      part.outputs = &outputs_;
    } else {
      for (MessageRing** ring : {&part.forward_out, &part.backward_in}) {
        rings_.push_back(std::make_unique<MessageRing>(kMessageRingSlots));
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

absl::Status LoadedInBand::CheckReady() {
  absl::Status status = post_.CheckReady();
  if (status.ok() && given_up_ != nullptr) {
    book_.TakeBack(std::exchange(given_up_, nullptr)(), routes_);
  }
  return status;
}

absl::Status LoadedInBand::RunProgram(std::unique_ptr<Program> program,
                                      std::function<GivenCircuits()> done) {
  absl::Status status = post_.Run(std::move(program));
  if (!status.ok()) given_up_ = std::move(done);
  return status;
}

absl::Status LoadedInBand::CatchUp() {
  const GivenCircuits behind = book_.Behind();
  absl::Status status;
  if (!behind.empty()) {
    status = RunProgram(std::make_unique<SetGivenCircuits>(behind), [behind] { return behind; });
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
  auto program =
      MakeProgram(parameters, requests, routes_, capacity_.limited() || !faults_.empty());
  const CircuitProgram& ran = *program;
  const auto done = [this, &ran] {
    GivenCircuits circuits;
    for (const InBandPath& path : ran.Report(network_, CyclesASecond()).paths) {
      circuits.install.push_back({path.input, path.tag});
    }
    return circuits;
  };
  if (absl::Status status = RunProgram(std::move(program), done); !status.ok()) return status;
  for (const Candidates& request : requests) book_.Settle(request.input);
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
  if (absl::Status status = RunProgram(std::move(release), [done] { return done; }); !status.ok()) {
    return status;
  }
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
  if (absl::Status status = RunProgram(std::move(walk), [] { return GivenCircuits(); });
      !status.ok()) {
    return status;
  }
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
