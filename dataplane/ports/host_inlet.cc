// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/host_inlet.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <utility>

#include "dataplane/frames/mac_address.h"
#include "dataplane/frames/translate.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/whole_frame.h"
#include "dataplane/xdp/kernel_checksum.h"

namespace bfly::dataplane {
HostInlet::HostInlet(HostInletConfig config)
    : config_(std::move(config)),
      single_row_(config_.rows.size() == 1),
      reads_plain_(config_.rules.mode == AddressingMode::kMac),
      flood_(config_.flood),
      offered_flood_(config_.flood) {
  if (single_row_) return;
  attached_.resize(config_.rules.rows);
  for (Row row : config_.rows) attached_[row] = 1;
}

HostInlet::~HostInlet() {
  rte_pktmbuf_free(flooding_);
  for (; next_ < count_; ++next_) rte_pktmbuf_free(frames_[next_]);
}

int HostInlet::Receive(Descriptor* burst, int room, Ledger& ledger) {
  const uint64_t now = rte_rdtsc();
  int filled = 0;
  if (flooding_ != nullptr) filled = ContinueFlood(now, burst, room, ledger);
  if (next_ == count_) {
    const bool more_will_come = count_ > 0;
    next_ = count_ = 0;
    const uint32_t device = config_.gate->device();
    if (device == DeviceGate::kClosed) [[unlikely]]
      return filled;
    if (config_.several_workers && more_will_come) FetchBuffers(config_.pool);
    count_ = rte_eth_rx_burst(static_cast<uint16_t>(device), config_.queue, frames_,
                              static_cast<uint16_t>(std::min(room, kBurst)));
    if (count_ == 0) return filled;
    uint64_t bytes = 0;
    for (int i = 0; i < count_; ++i) {
      rte_prefetch0(rte_pktmbuf_mtod(frames_[i], const void*));
      bytes += frames_[i]->pkt_len;
    }
    Bump(counters_.packets, count_);
    Bump(counters_.bytes, bytes);
  }
  while (next_ < count_ && filled < room) {
    if (reads_plain_) {
      filled += AdmitPlain(now, burst + filled, room - filled, ledger);
      if (next_ == count_ || filled == room) break;
    }
    filled += Admit(frames_[next_++], now, burst + filled, ledger);
    if (flooding_ != nullptr) filled += ContinueFlood(now, burst + filled, room - filled, ledger);
  }
  return filled;
}

Inlet* HostInlet::Front() {
  TakeUpFlood();
  if (taps_.load(std::memory_order_acquire) == nullptr) return this;
  return &tapped_;
}

// A flood in progress goes on at the first row that it has not reached, so that no row gets two
// copies.
void HostInlet::TakeUpFlood() {
  const std::vector<Row>* const rows = offered_flood_.load(std::memory_order_acquire);
  if (rows == flood_) return;
  if (flooding_ != nullptr) {
    const auto next = flood_next_ == flood_->size()
                          ? rows->end()
                          : std::lower_bound(rows->begin(), rows->end(), (*flood_)[flood_next_]);
    flood_next_ = static_cast<size_t>(next - rows->begin());
  }
  flood_ = rows;
}

void HostInlet::Leave(Ledger& ledger) {
  if (flooding_ != nullptr) {
    Reject(std::exchange(flooding_, nullptr), DropReason::kPortRemoved, ledger);
  }
  while (next_ < count_) Reject(frames_[next_++], DropReason::kPortRemoved, ledger);
}

int HostInlet::Tapped::Receive(Descriptor* burst, int room, Ledger& ledger) {
  const int count = inlet_.Receive(burst, room, ledger);
  const TapTable* const taps = inlet_.taps_.load(std::memory_order_acquire);
  for (int i = 0; taps != nullptr && i < count; ++i) taps->Note(burst[i].row, burst[i]);
  return count;
}

int HostInlet::AdmitPlain(uint64_t now, Descriptor* out, int room, Ledger& ledger) {
  const int end = std::min(count_, next_ + room);
  Descriptor* const begin = out;
  for (; next_ < end; ++next_, ++out) {
    rte_mbuf* const frame = frames_[next_];
    if (frame->nb_segs != 1 || frame->pkt_len > config_.rules.max_frame_bytes) break;
    uint8_t* const bytes = rte_pktmbuf_mtod(frame, uint8_t*);
    PlainFrame plain;
    Row input;
    Route route;
    if (!ReadPlainFrame(bytes, frame->pkt_len, config_.rules, plain) ||
        !PlainInputOf(plain.from, input) || !config_.routes->Lookup(input, plain.output, route)) {
      break;
    }
    if (config_.learned != nullptr) {
      config_.learned->Learn(TranslateIn(bytes, frame->data_len, input));
    }
    if (config_.kernel_interface) FinishChecksum(bytes, frame->data_len);
    *out = {.tag = route.tag,
            .mbuf = frame,
            .time = now,
            .priority = plain.priority,
            .fixed = route.fixed,
            .row = input,
            .bytes = static_cast<uint16_t>(frame->pkt_len),
            .input = static_cast<uint16_t>(input)};
  }
  const auto admitted = static_cast<int>(out - begin);
  ledger.injected += static_cast<uint64_t>(admitted);
  return admitted;
}

int HostInlet::Admit(rte_mbuf* frame, uint64_t now, Descriptor* out, Ledger& ledger) {
  if (frame->pkt_len > config_.rules.max_frame_bytes) {
    return Reject(frame, DropReason::kOversized, ledger);
  }
  if (!MakeWhole(frame, config_.pool)) return Reject(frame, DropReason::kPortFull, ledger);
  uint8_t* bytes = rte_pktmbuf_mtod(frame, uint8_t*);
  const Verdict verdict = ParseFrame(bytes, frame->data_len, frame->pkt_len, config_.rules);
  if (verdict.kind == Verdict::Kind::kDrop) return Reject(frame, verdict.reason, ledger);
  Row input;
  if (!InputOf(bytes, verdict, input)) return Reject(frame, DropReason::kUnknownInput, ledger);
  if (config_.learned != nullptr)
    config_.learned->Learn(TranslateIn(bytes, frame->data_len, input));

  if (config_.kernel_interface) FinishChecksum(bytes, frame->data_len);

  Route route{verdict.tag, verdict.fixed};
  if (verdict.kind == Verdict::Kind::kFlood) {
    flooding_ = frame;
    flood_input_ = input;
    flood_next_ = 0;
    const std::vector<Row>& rows = *flood_;
    const bool nobody = rows.empty() || (rows.size() == 1 && rows[0] == input);
    if (!nobody) return 0;
    flooding_ = nullptr;
    return Reject(frame, DropReason::kNoPortAtRow, ledger);
  }
  if (verdict.kind == Verdict::Kind::kRow &&
      !config_.routes->Lookup(input, verdict.output, route)) {
    return Reject(frame, DropReason::kNoCircuit, ledger);
  }
  ++ledger.injected;
  return Inject(frame, input, route, now, out);
}

int HostInlet::ContinueFlood(uint64_t now, Descriptor* burst, int room, Ledger& ledger) {
  const std::vector<Row>& rows = *flood_;
  int filled = 0;
  for (; flood_next_ < rows.size() && filled < room; ++flood_next_) {
    const Row output = rows[flood_next_];
    if (output == flood_input_) continue;
    ++ledger.injected;
    Route route;
    if (!config_.routes->Lookup(flood_input_, output, route)) {
      counters_.Drop(DropReason::kNoCircuit, ledger);
      continue;
    }
    rte_mbuf* copy = rte_pktmbuf_copy(flooding_, config_.pool, 0, UINT32_MAX);
    if (copy == nullptr) {
      counters_.Drop(DropReason::kPortFull, ledger);
      continue;
    }
    filled += Inject(copy, flood_input_, route, now, burst + filled);
  }
  if (flood_next_ == rows.size()) {
    rte_pktmbuf_free(flooding_);
    flooding_ = nullptr;
  }
  return filled;
}

int HostInlet::Inject(rte_mbuf* frame, Row input, Route route, uint64_t now, Descriptor* out) {
  *out = {.tag = route.tag,
          .mbuf = frame,
          .time = now,
          .priority = PriorityOf(rte_pktmbuf_mtod(frame, const uint8_t*), frame->data_len),
          .fixed = route.fixed,
          .row = input,
          .bytes = static_cast<uint16_t>(frame->pkt_len),
          .input = static_cast<uint16_t>(input)};
  return 1;
}

int HostInlet::Reject(rte_mbuf* frame, DropReason reason, Ledger& ledger) {
  ++ledger.injected;
  counters_.Drop(reason, ledger);
  rte_pktmbuf_free(frame);
  return 0;
}

bool HostInlet::InputOf(const uint8_t* frame, const Verdict& verdict, Row& input) const {
  if (single_row_) {
    input = config_.rows[0];
    return !verdict.names_input || verdict.input == input;
  }
  if (!verdict.names_input) return PlainInputOf(LoadMac(frame + 6), input);
  input = verdict.input;
  return input < attached_.size() && attached_[input] != 0;
}

}  // namespace bfly::dataplane
