// SPDX-License-Identifier: Apache-2.0
#include "control/experiment/point.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "dataplane/virtual_clock/virtual_fabric.h"

namespace bfly::control {
namespace {

using dataplane::Discipline;

Discipline DisciplineOf(int value) {
  switch (value) {
    case v1::Experiment::PROCESSOR_SHARING:
      return Discipline::kProcessorSharing;
    case v1::Experiment::PRIORITY:
      return Discipline::kPriority;
    default:
      return Discipline::kFifo;
  }
}

absl::Status CheckPoint(const Point& point) {
  if (point.network == NetworkKind::kWrappedButterfly) {
    return absl::InvalidArgumentError(
        "network: wrapped_butterfly is not levelled; the virtual clock runs networks whose links "
        "all lead "
        "one level on, such as two_fold_butterfly");
  }
  if (point.network == NetworkKind::kHypercube && point.p == 0) {
    return absl::InvalidArgumentError(
        "p: 0 on the hypercube means that no packet uses a link (allowed: above 0 to 1)");
  }
  if (point.discipline == Discipline::kPriority) {
    double sum = 0;
    for (const double share : point.class_shares) sum += share;
    if (!(std::abs(sum - 1) < 1e-9)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "class_shares: sum to ", sum, " (allowed: 1, since every packet belongs to one class)"));
    }
  }
  if (point.slot > 0) {
    const double inverse = 1 / point.slot;
    if (inverse > 1000 || std::abs(inverse - std::round(inverse)) > 1e-6) {
      return absl::InvalidArgumentError(absl::StrCat(
          "slot: ", point.slot,
          " is no whole part of the service time (allowed: 0, or 1/k, k = 1 to 1000)"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string DisciplineName(Discipline discipline) {
  switch (discipline) {
    case Discipline::kProcessorSharing:
      return "processor_sharing";
    case Discipline::kPriority:
      return "priority";
    case Discipline::kFifo:
      break;
  }
  return "fifo";
}

double Trial::figure(const std::string& name) const {
  const auto found = figures.find(name);
  return found == figures.end() ? std::nan("") : found->second;
}

double Point::lambda() const {
  return rho / (network == NetworkKind::kHypercube ? p : std::max(p, 1 - p));
}

std::string Point::ToString() const {
  return absl::StrCat(
      "d=", d, " p=", p, " rho=", rho, slot > 0 ? absl::StrCat(" slot=", slot) : "",
      discipline == Discipline::kFifo ? "" : absl::StrCat(" ", DisciplineName(discipline)));
}

absl::StatusOr<std::vector<Point>> PointsOf(const v1::Experiment& experiment) {
  const absl::StatusOr<NetworkKind> kind =
      KindFromName(absl::AsciiStrToLower(v1::NetworkKind_Name(experiment.network())));
  if (!kind.ok()) return kind.status();
  std::vector<Point> points;
  for (const uint32_t d : experiment.d()) {
    for (const double p : experiment.p()) {
      for (const double rho : experiment.rho()) {
        for (const double slot : experiment.slot()) {
          for (const int discipline : experiment.discipline()) {
            Point point{
                .network = *kind, .d = static_cast<int>(d), .p = p, .rho = rho, .slot = slot};
            point.discipline = DisciplineOf(discipline);
            if (point.discipline == Discipline::kPriority) {
              point.class_shares = {experiment.class_shares().begin(),
                                    experiment.class_shares().end()};
            }
            if (absl::Status status = CheckPoint(point); !status.ok()) return status;
            points.push_back(point);
          }
        }
      }
    }
  }
  return points;
}

double WarmupOf(const v1::Experiment& experiment, const Point& point) {
  if (experiment.warmup() > 0) return experiment.warmup();
  // At and beyond saturation there is no stationary state to wait for.
  const double idle = point.rho < 1 ? std::max(1 - point.rho, 0.01) : 0.1;
  return 4 * (point.d / idle + 1 / (idle * idle));
}

double DurationOf(const v1::Experiment& experiment, const Point& point) {
  const double needed = static_cast<double>(experiment.packets()) /
                        (point.lambda() * static_cast<double>(point.rows()));
  return std::max(needed, 10 * WarmupOf(experiment, point));
}

absl::StatusOr<Trial> RunTrial(const v1::Experiment& experiment, const Point& point,
                               uint64_t seed) {
  const absl::StatusOr<Network> network =
      Network::Make({.kind = point.network, .rows = point.rows(), .seed = seed});
  if (!network.ok()) return network.status();
  dataplane::VirtualConfig config;
  config.arrivals.rate = point.lambda();
  config.arrivals.seed = seed;
  config.flip = point.p;
  config.discipline = point.discipline;
  config.class_shares = point.class_shares;
  config.occupancy = point.discipline == Discipline::kProcessorSharing;
  config.warmup = WarmupOf(experiment, point);
  config.duration = DurationOf(experiment, point);
  if (point.slot > 0) {
    config.arrivals.process = dataplane::ArrivalConfig::Process::kSlotBatch;
    config.slots_per_unit = static_cast<uint32_t>(std::lround(1 / point.slot));
    config.warmup = std::ceil(config.warmup);
    config.duration = std::ceil(config.duration);
  }
  const absl::StatusOr<dataplane::VirtualResult> run = dataplane::RunVirtual(*network, config);
  if (!run.ok()) return run.status();

  Trial trial{.seed = seed,
              .offered = run->offered,
              .accepted = run->accepted,
              .mean_delay = run->mean_delay,
              .p50 = run->p50,
              .p99 = run->p99,
              .mean_population = run->mean_population,
              .measured = run->measured,
              .unfinished = run->unfinished,
              .batch_delays = {}};
  for (const dataplane::DelayBatch& batch : run->batches) {
    if (batch.packets > 0) {
      trial.batch_delays.push_back(batch.delay_sum / static_cast<double>(batch.packets));
    }
  }
  for (const dataplane::StageDelay& stage : run->stages) {
    trial.stages.push_back({stage.mean, stage.p50, stage.p99});
  }
  for (size_t i = 0; i < point.class_shares.size(); ++i) {
    trial.figures[absl::StrCat("class_delay_", i)] = run->class_delay[i];
  }
  for (const auto& [kind, shares] :
       {std::pair{"straight", run->straight_occupancy}, {"cross", run->cross_occupancy}}) {
    for (size_t n = 0; n < shares.size(); ++n) {
      trial.figures[absl::StrCat(kind, "_holds_", n)] = shares[n];
    }
  }
  double straight = 0, cross = 0;
  for (uint64_t link = 0; link < network->link_count(); ++link) {
    const LinkId id = network->link_at(link);
    const auto packets = static_cast<double>(run->link_packets[link]);
    (network->next_row(id.stage, id.row, id.port) == id.row ? straight : cross) += packets;
  }
  const double link_time = run->end_time * static_cast<double>(network->link_count()) / 2;
  trial.straight_utilisation = straight / link_time;
  trial.cross_utilisation = cross / link_time;
  return trial;
}

}  // namespace bfly::control
