// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/packet_experiment.h"

#include "absl/strings/str_format.h"
#include "bfly/v1/experiment.pb.h"
#include "control/measure/core/claim_rows.h"
#include "control/measure/packets/delay_figures.h"
#include "control/measure/packets/lateness.h"
#include "control/measure/packets/packet_claims.h"
#include "control/measure/packets/packet_tables.h"
#include "control/measure/packets/wall_trial.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/eal.h"

namespace bfly::control {
namespace {

class PacketExperiment final : public ExperimentOf<v1::Experiment> {
 public:
  ~PacketExperiment() override {
    if (eal_started_) dataplane::StopEal();
  }

  absl::StatusOr<std::vector<Point>> Sweep() const override {
    const absl::StatusOr<std::vector<PacketPoint>> points = PointsOf(message());
    if (!points.ok()) return points.status();
    return std::vector<Point>(points->begin(), points->end());
  }

  absl::Status CheckEffort(const std::vector<Point>& points) const override {
    std::vector<PacketPoint> packets;
    for (const PacketPoint& point : points) {
      if (absl::Status status = on_wall_clock() ? CheckWallPoint(message(), point) : absl::Status();
          !status.ok()) {
        return status;
      }
      packets.push_back(point);
    }
    return control::CheckEffort(message(), packets);
  }

  const std::vector<Claim>& Claims() const override { return PacketClaims(); }

  // Workers on the wall clock need EAL.
  absl::StatusOr<std::string> Start() override {
    if (!on_wall_clock()) return std::string();
    if (const size_t cpus = dataplane::UsableCpus().size(); message().workers() > cpus) {
      return absl::InvalidArgumentError(
          absl::StrFormat("workers: %u is more than the CPUs that this process may use (%u)",
                          message().workers(), cpus));
    }
    const absl::StatusOr<dataplane::Eal> eal = dataplane::StartEal({});
    if (!eal.ok()) return eal.status();
    eal_started_ = true;
    const absl::StatusOr<std::vector<PacketPoint>> points = PointsOf(message());
    if (!points.ok()) return points.status();
    double seconds = 0;
    for (const PacketPoint& point : *points) seconds += WallSecondsOf(message(), point);
    return absl::StrFormat(
        "wall clock: a unit is %g us, links of %g Mbit/s, %u worker%s; about %.0f s (%s)\n",
        message().unit_us(), kWallBytes * 8 / message().unit_us(), message().workers(),
        message().workers() == 1 ? "" : "s", seconds * message().seeds_size(), eal->memory);
  }

  absl::StatusOr<Trial> Run(const Point& point, uint64_t seed,
                            const std::function<bool()>& interrupted) const override {
    return on_wall_clock() ? RunWallTrial(message(), point, seed, interrupted)
                           : RunTrial(message(), point, seed);
  }

  // Real workers have the CPUs for themselves.
  int TrialsAtOnce(int cpus) const override { return on_wall_clock() ? 1 : cpus; }

  bool IsSaturated(const Measurement& measurement) const override {
    return control::IsSaturated(measurement);
  }

  void Conclude(Report& report) const override {
    // Every point has all seeds. A claim without a trial is not about its point.
    for (ClaimResult& claim : report.claims) {
      if (claim.trials > 0) claim.trials = message().seeds_size();
    }
    WithholdLateVerdicts(report.series, message().unit_us(), report.claims);
    KeepOneInapplicable(report.claims);
  }

  void AddResults(const Report& report, nlohmann::ordered_json& results) const override {
    AddPacketResults(report, results);
  }

  std::vector<std::pair<std::string, std::string>> Files(const Report& report) const override {
    const bool patterns = !message().pattern().empty();
    return {{"results.csv", PacketCsv(report, patterns)},
            {"claims.txt", ClaimTable(report) + "\n" + SaturationTable(report)}};
  }

  std::string Summary(const Report& report) const override {
    return ClaimTable(report, false) + "\n" + SaturationTable(report) + LatenessTable(report);
  }

  absl::StatusOr<std::vector<Figure>> Figures(
      const nlohmann::ordered_json& results) const override {
    return DelayFigures(message(), results);
  }

 private:
  bool on_wall_clock() const { return message().clock() == v1::Experiment::WALL; }

  bool eal_started_ = false;
};

}  // namespace

std::unique_ptr<Experiment> NewPacketExperiment() { return std::make_unique<PacketExperiment>(); }

}  // namespace bfly::control
