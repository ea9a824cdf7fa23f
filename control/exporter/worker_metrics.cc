// SPDX-License-Identifier: Apache-2.0
#include "control/exporter/worker_metrics.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace bfly::control {

void AddWorkers(const v1::FabricStatus& fabric, MetricFamilies& families) {
  MetricSeries& passes =
      families.Counter("bfly_worker_passes_total", "Passes of the worker over its work.");
  MetricSeries& idle =
      families.Counter("bfly_worker_idle_passes_total", "Passes that moved no packet.");
  MetricSeries& busy = families.Counter("bfly_worker_busy_seconds_total",
                                        "Time in passes that moved packets, by the CPU's TSC.");
  MetricSeries& cycles =
      families.Counter("bfly_worker_busy_cycles_total", "TSC cycles in passes that moved packets.");
  MetricSeries& frames =
      families.Counter("bfly_worker_frames_total", "Frames that the worker's polls brought.");
  MetricSeries& hops = families.Counter("bfly_worker_hops_total",
                                        "Packets times links that they crossed on this worker.");
  MetricSeries& polls = families.Counter("bfly_worker_polls_total", "Polls of queues and rings.");
  MetricSeries& empty =
      families.Counter("bfly_worker_empty_polls_total", "Polls that brought nothing.");
  MetricSeries& released =
      families.Counter("bfly_worker_released_packets_total",
                       "Packets that the worker released from links that take time.");
  MetricSeries& lateness =
      families.Counter("bfly_worker_lateness_seconds_total",
                       "Sum of how late the released packets left their links.");
  MetricSeries& late =
      families.Gauge("bfly_worker_late_p99_seconds",
                     "How late packets were released, 99th percentile since load.");
  MetricSeries& latest =
      families.Gauge("bfly_worker_late_max_seconds", "How late packets were released at most.");
  MetricSeries& ring = families.Gauge("bfly_worker_ring_peak_packets",
                                      "The most packets that waited in the ring between workers.");
  MetricSeries& room =
      families.Gauge("bfly_worker_ring_capacity_packets", "The room of the ring between workers.");
  for (const v1::DataPlaneStatus& plane : fabric.data_planes()) {
    for (const v1::WorkerStatus& worker : plane.workers()) {
      const Labels labels = {{"data_plane", plane.name()}, {"lcore", absl::StrCat(worker.lcore())}};
      const v1::WorkerCost& cost = worker.cost();
      const auto cycles_spent = static_cast<double>(cost.busy_cycles());
      passes.Set(labels, static_cast<double>(worker.passes()));
      idle.Set(labels, static_cast<double>(worker.idle_passes()));
      cycles.Set(labels, cycles_spent);
      if (cost.tsc_hz() > 0) busy.Set(labels, cycles_spent / static_cast<double>(cost.tsc_hz()));
      frames.Set(labels, static_cast<double>(cost.frames()));
      hops.Set(labels, static_cast<double>(cost.hops()));
      polls.Set(labels, static_cast<double>(cost.polls()));
      empty.Set(labels, static_cast<double>(cost.empty_polls()));
      released.Set(labels, static_cast<double>(worker.lateness().packets()));
      // In whole nanoseconds: a product that fell by a rounding error would count as a restart.
      lateness.Set(labels, 1e-9 * std::round(1e3 * worker.lateness().mean_us() *
                                             static_cast<double>(worker.lateness().packets())));
      late.Set(labels, 1e-6 * worker.lateness().p99_us());
      latest.Set(labels, 1e-6 * worker.lateness().max_us());
      for (const v1::RingOccupancy& from : cost.rings()) {
        Labels pair = labels;
        pair.emplace_back("from_lcore", absl::StrCat(from.from_lcore()));
        ring.Set(pair, from.peak());
        room.Set(pair, from.capacity());
      }
    }
  }
}

}  // namespace bfly::control
