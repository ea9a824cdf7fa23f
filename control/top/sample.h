// SPDX-License-Identifier: Apache-2.0
// What `bfly top` knows of a fabric at one moment: the controller's answers in, plain figures out.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/circuits.pb.h"
#include "bfly/v1/fabric.pb.h"
#include "bfly/v1/telemetry.pb.h"
#include "bfly/v1/traffic.pb.h"

namespace bfly::control {

// The answers to one round of questions.
struct Answers {
  v1::FabricStatus fabric;
  int64_t fabric_ns = 0;  // when `fabric` was answered, on a clock that cannot be set
  v1::Counters counters;
  // False: the network has so many links that `counters` has the busiest ones alone.
  bool every_link = true;
  v1::GetLinksResponse links;
  v1::ListResponse circuits;  // the first ones
  v1::ListTrafficResponse traffic;
  std::string traffic_problem;  // why `traffic` is empty although a fabric is loaded
};

// Which stages, rows and ports are shown, in ascending order; empty: all of them.
struct Part {
  std::vector<uint32_t> stages;
  std::vector<uint32_t> rows;
  std::vector<uint32_t> ports;
};

// What the fabric has of the part. OutOfRange: it has none of the stages, rows or ports asked for.
absl::StatusOr<Part> PartOf(const v1::FabricStatus& fabric, Part part);

// Rates are means since the sample before, and 0 in the first one.
struct LinkSample {
  uint32_t stage = 0, row = 0, port = 0, next_row = 0;
  uint64_t packets = 0, bytes = 0, dropped = 0;  // since the fabric was loaded
  double packets_per_second = 0, bits_per_second = 0, drops_per_second = 0;
  // The part of the time that the link was sending; nothing if it has no rate.
  std::optional<double> utilisation;
  uint64_t rate = 0;  // bits a second; 0: none
  uint32_t queued = 0, peak = 0, circuits = 0;
  // 0 to 1. The utilisation, or for a link without a rate its packets beside those of the busiest
  // link without a rate.
  float heat = 0;
};

struct StageSample {
  uint32_t stage = 0;
  double packets_per_second = 0, bits_per_second = 0, drops_per_second = 0;  // sums over links
  uint64_t packets = 0, dropped = 0, queued = 0;
  uint32_t circuits = 0;          // on the fullest link
  std::optional<size_t> hottest;  // the place of its hottest link in Sample::links
};

struct WorkerSample {
  std::string data_plane;
  uint32_t lcore = 0;
  // `rows` are the rows of at least one stage, or "all". Both are empty if the worker only polls
  // ports.
  std::string stages, rows;
  // The stages with their rows, if these differ.
  std::string placed;
  // The part of the time in passes that moved packets, and the part of polls that brought nothing;
  // nothing in the first sample.
  std::optional<double> busy, empty_polls;
  double frames_per_second = 0, hops_per_second = 0;
  // Cycles a hop since the last sample, or since the load if nothing moved since that sample.
  double cycles_per_hop = 0;
  // The same by stages. Stages that no sampled packet crossed in that time are left out.
  std::vector<v1::StageCost> costs;
  v1::Lateness late;
  // The fullest of the rings that lead to it.
  uint32_t ring = 0, ring_peak = 0, ring_capacity = 0;
};

struct PortSample {
  std::string data_plane, name, driver;
  double rx_per_second = 0, tx_per_second = 0, rx_bits = 0, tx_bits = 0, missed_per_second = 0;
  uint64_t received = 0, sent = 0, missed = 0, dropped = 0;
  uint32_t queue_pairs = 0;
};

struct Sample {
  bool loaded = false;
  std::string name, kind;
  uint32_t rows = 0, stages = 0, ports = 2;  // of the network; ports leave a node
  int64_t time_ns = 0;                       // of day
  double seconds = 0;                        // since the sample before; 0: there is none
  Part part;
  bool every_link = true;
  v1::Conservation account;
  double injected = 0, delivered = 0, dropped = 0, missed = 0;  // a second
  std::vector<v1::DropCount> drops;
  std::vector<LinkSample> links;  // that ever carried anything, by stage, row and port
  std::vector<StageSample> by_stage;
  double busiest = 0;  // packets a second of the busiest link without a rate
  bool has_rates = false;
  std::vector<WorkerSample> workers;
  std::vector<PortSample> host_ports;
  v1::CircuitCounters circuit_counts;
  uint64_t circuits_total = 0;
  std::vector<v1::Circuit> circuits;
  std::vector<v1::TrafficSourceStatus> sources;
  v1::LatencyReport latency;
  bool traffic_known = true;  // else sources and latencies are empty, and a problem says why
  std::vector<std::string> problems;

  uint32_t shown_rows() const {
    return part.rows.empty() ? rows : static_cast<uint32_t>(part.rows.size());
  }
  uint32_t shown_ports() const {
    return part.ports.empty() ? ports : static_cast<uint32_t>(part.ports.size());
  }
};

// `before` is null for the first sample. Answers about another fabric count as none. Of `part` the
// fabric has something (PartOf).
Sample MakeSample(const Answers& now, const Answers* before, const Part& part);

// The heat of every link of a stage by row and port, of the shown rows and ports alone.
std::vector<float> HeatOf(const Sample& sample, uint32_t stage);

// The place of a stage, row or port among the shown ones: its own number if all are shown.
std::optional<uint32_t> PlaceIn(const std::vector<uint32_t>& shown, uint32_t number);

}  // namespace bfly::control
