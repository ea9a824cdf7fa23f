// SPDX-License-Identifier: Apache-2.0
#include "control/agent/agent_captures.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "control/agent/caller.h"
#include "control/status/grpc_status.h"
#include "dataplane/slots/intermediate_row_tags.h"
#include "dataplane/taps/tap.h"
#include "dataplane/taps/unix_clock.h"

namespace bfly::control {
namespace {

using std::chrono::steady_clock;

// How often an empty ring is looked at, and how often counts are told while no frame comes.
constexpr std::chrono::milliseconds kCaptureLook{5};
constexpr std::chrono::seconds kTellCounts{1};
// A message has at most kMostInBatch frames and about kBatchBytes bytes of them.
constexpr uint32_t kMostInBatch = 512;
constexpr uint32_t kBatchBytes = 512 << 10;

dataplane::TapConfig TapConfigOf(const v1::AgentCaptureRequest& request) {
  dataplane::TapConfig config;
  for (const v1::LinkRef& link : request.links()) {
    config.links.push_back(
        {static_cast<int>(link.stage()), link.row(), static_cast<int>(link.port())});
  }
  config.ports.assign(request.ports().begin(), request.ports().end());
  for (const v1::AgentCapturePath& path : request.paths()) {
    config.paths.push_back({.input = path.input(), .tag = path.tag(), .end = path.end()});
  }
  config.snaplen = request.snaplen();
  config.every = request.every();
  return config;
}

// Follows the directions that are left in this crossing of the network from the node at which the
// frame is.
uint32_t EndOf(const dataplane::TappedFrame& frame, const Network& network, int hops_left) {
  const TagLayout layout = network.tag_layout();
  Row row = frame.row;
  dataplane::TappedFrame at = frame;
  for (int hop = network.hops() - hops_left; hop < network.hops(); ++hop) {
    const int field = static_cast<int>(at.tag >> (64 - layout.field_bits));
    const int port = std::min(layout.port_of(field), network.ports() - 1);
    row = network.next_row(network.stage_of_hop(hop), row, port);
    at.tag <<= layout.field_bits;
  }
  return row;
}

class FrameWriter {
 public:
  FrameWriter(const dataplane::Fabric& fabric, const dataplane::UnixClock& clock)
      : fabric_(fabric),
        network_(fabric.network()),
        clock_(clock),
        by_intermediate_row_(network_) {}

  void Write(const dataplane::TappedFrame& frame, std::span<const uint8_t> bytes,
             v1::CapturedFrame* out) const {
    const int hops_left = HopsLeft(frame);
    out->set_time_ns(clock_.At(frame.arrival));
    out->set_late_ns(clock_.Between(frame.arrival, frame.copied));
    out->set_age_ns(clock_.Between(frame.birth, frame.arrival));
    switch (frame.place) {
      case dataplane::TapPlace::kLink: {
        out->set_place(v1::CapturedFrame::LINK);
        const auto ports = static_cast<uint32_t>(network_.ports());
        out->mutable_link()->set_stage(frame.stage);
        out->mutable_link()->set_row(frame.number / ports);
        out->mutable_link()->set_port(frame.number % ports);
        out->set_hop(static_cast<uint32_t>(network_.hops() - hops_left));
        break;
      }
      case dataplane::TapPlace::kPortIn:
        out->set_place(v1::CapturedFrame::PORT_IN);
        out->set_port(fabric_.PortName(frame.number));
        break;
      case dataplane::TapPlace::kPortOut:
        out->set_place(v1::CapturedFrame::PORT_OUT);
        // A packet without a frame goes to no port, whether its row has one or not.
        if (frame.number != dataplane::kNoPort && frame.kept != 0) {
          out->set_port(fabric_.PortName(frame.number));
        }
        break;
    }
    out->set_input(frame.input);
    out->set_output(OutputOf(frame, hops_left));
    out->set_priority(frame.priority);
    out->set_length(frame.bytes);
    out->set_data(bytes.data(), bytes.size());
  }

 private:
  int HopsLeft(const dataplane::TappedFrame& frame) const {
    // A tag may hold the path of two crossings, so the stage says more where each is crossed once.
    if (frame.place == dataplane::TapPlace::kLink && network_.hops() == network_.stages()) {
      return network_.hops() - static_cast<int>(frame.stage);
    }
    // Below the fields of the hops to come stands a one bit (topologies/tag.h).
    const int bits_left = frame.tag == 0 ? 0 : 63 - std::countr_zero(frame.tag);
    return std::min(bits_left / network_.tag_layout().field_bits, network_.hops());
  }

  // The frame's output. If the frame goes by an intermediate row, this is the output of its second
  // crossing.
  uint32_t OutputOf(const dataplane::TappedFrame& frame, int hops_left) const {
    const Row end = EndOf(frame, network_, hops_left);
    const int bits_left = hops_left * network_.tag_layout().field_bits;
    if (frame.tag << bits_left == 0 ||
        !dataplane::TagsByIntermediateRow::TurnsBack(frame.tag, bits_left)) {
      return end;
    }
    dataplane::TappedFrame again = frame;
    again.row = end;
    again.tag = by_intermediate_row_.Rest(frame.tag << bits_left);
    return EndOf(again, network_, network_.hops());
  }

  const dataplane::Fabric& fabric_;
  const Network& network_;
  const dataplane::UnixClock& clock_;
  const dataplane::TagsByIntermediateRow by_intermediate_row_;
};

void FillCounts(const dataplane::Tap& tap, v1::CaptureBatch* batch) {
  const dataplane::TapCounts counts = tap.counts();
  batch->mutable_counts()->set_seen(counts.seen);
  batch->mutable_counts()->set_copied(counts.copied);
  batch->mutable_counts()->set_dropped(counts.dropped);
}

absl::StatusOr<std::shared_ptr<dataplane::Tap>> StartTap(FabricHost& host,
                                                         const dataplane::TapConfig& config) {
  const absl::StatusOr<FabricInUse> use = host.Use();
  if (!use.ok()) return use.status();
  if (use->fabric->taps() == nullptr) {
    return absl::UnimplementedError("this data plane copies no frames");
  }
  return use->fabric->taps()->Start(config);
}

// Puts the copies that have come into a batch, ordered by the time of the frame and then by when it
// was copied. No other fabric can be loaded meanwhile.
absl::Status TakeBatch(FabricHost& host, dataplane::Tap& tap, const dataplane::UnixClock& clock,
                       uint64_t most, v1::CaptureBatch* batch) {
  const absl::StatusOr<FabricInUse> use = host.Use();
  if (!use.ok() || tap.over()) return absl::AbortedError("the fabric was unloaded");
  const FrameWriter writer(*use->fabric, clock);
  const uint32_t fit = std::clamp(kBatchBytes / tap.config().snaplen, 1u, kMostInBatch);
  tap.Take(static_cast<uint32_t>(std::min<uint64_t>(fit, most)),
           [&](const dataplane::TappedFrame& frame, std::span<const uint8_t> bytes) {
             writer.Write(frame, bytes, batch->add_frames());
           });
  std::stable_sort(batch->mutable_frames()->pointer_begin(), batch->mutable_frames()->pointer_end(),
                   [](const auto* a, const auto* b) {
                     return std::make_pair(a->time_ns(), a->late_ns()) <
                            std::make_pair(b->time_ns(), b->late_ns());
                   });
  return absl::OkStatus();
}

// The tap's copies may still be taken.
void StopTap(FabricHost& host, const std::shared_ptr<dataplane::Tap>& tap) {
  const absl::StatusOr<FabricInUse> use = host.Use();
  if (use.ok() && use->fabric->taps() != nullptr) use->fabric->taps()->Stop(tap);
}

// When the time is over, the tap is stopped, and the copies that it has are sent.
absl::Status Send(FabricHost& host, const std::shared_ptr<dataplane::Tap>& tap,
                  const v1::AgentCaptureRequest& request, grpc::ServerContext& context,
                  grpc::ServerWriter<v1::CaptureBatch>& writer) {
  const dataplane::UnixClock clock = dataplane::UnixClock::Now();
  v1::CaptureBatch first;
  first.set_began(true);
  first.set_data_plane(host.name());
  if (const absl::StatusOr<FabricInUse> use = host.Use(); use.ok()) {
    first.set_hops(static_cast<uint32_t>(use->fabric->network().hops()));
  }
  if (!writer.Write(first)) return absl::CancelledError("the caller has gone");
  if (tap->places() == 0) return absl::OkStatus();
  const auto end = steady_clock::now() + std::chrono::seconds(request.max_seconds());
  auto told = steady_clock::now();
  uint64_t left =
      request.max_frames() != 0 ? request.max_frames() : std::numeric_limits<uint64_t>::max();
  bool stopped = false;
  while (!context.IsCancelled()) {
    if (!stopped && steady_clock::now() >= end) {
      StopTap(host, tap);
      stopped = true;
    }
    v1::CaptureBatch batch;
    absl::Status status = TakeBatch(host, *tap, clock, left, &batch);
    if (!status.ok()) return status;
    left -= static_cast<uint64_t>(batch.frames_size());
    const auto now = steady_clock::now();
    const bool is_empty = batch.frames_size() == 0;
    const bool over = left == 0 || (stopped && is_empty);
    if (is_empty && !over && now - told < kTellCounts) {
      std::this_thread::sleep_for(kCaptureLook);
      continue;
    }
    told = now;
    batch.set_data_plane(host.name());
    FillCounts(*tap, &batch);
    if (!writer.Write(batch)) return absl::CancelledError("the caller has gone");
    if (over) return absl::OkStatus();
  }
  return absl::CancelledError("cancelled");
}

}  // namespace

grpc::Status AgentCapturesService::Capture(grpc::ServerContext* context,
                                           const v1::AgentCaptureRequest* request,
                                           grpc::ServerWriter<v1::CaptureBatch>* writer) {
  if (absl::Status status = CheckCaller(*context, host_); !status.ok()) return ToGrpc(status);
  const absl::StatusOr<std::shared_ptr<dataplane::Tap>> tap =
      StartTap(host_, TapConfigOf(*request));
  if (!tap.ok()) return ToGrpc(tap.status());
  const absl::Cleanup stop = [&] { StopTap(host_, *tap); };
  return ToGrpc(Send(host_, *tap, *request, *context, *writer));
}

}  // namespace bfly::control
