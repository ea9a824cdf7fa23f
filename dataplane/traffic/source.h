// SPDX-License-Identifier: Apache-2.0
// Built-in sources: synthetic packets at input rows.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/fabric/inlet.h"
#include "dataplane/fabric/route_table.h"
#include "dataplane/traffic/source_config.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// One SourceConfig at work. Its packets are numbered 0, 1, ... over all its rows in turn: packet j
// starts at row j mod R and is due at start + j / (R rate). So what is sent, where it goes and when
// it was due depend on the config alone, never on when the worker looked.
class Source {
 public:
  Source(const SourceConfig& config, uint64_t start_tsc, double tsc_hz);

  // Fills in packets that are due at `now`, at most `room`.
  int Emit(Descriptor* burst, int room, uint64_t now, const Network& network,
           const RouteTable& routes, Ledger& ledger);

 private:
  Row UniformRow(uint64_t packet, const Network& network);

  SourceConfig config_;
  uint64_t start_;                 // TSC
  double cycles_;                  // between packets of this source; 0: not paced
  uint64_t next_ = 0;              // packet
  size_t next_row_ = 0;            // index of its row
  uint64_t end_;                   // packets in all
  uint64_t block_ = ~uint64_t{0};  // which random block is in words_: four packets each
  std::array<uint32_t, 4> words_{};
};

// InvalidArgument names the field: "sources[0].rows[3]: 20 is outside 0..15".
absl::Status CheckSources(const std::vector<SourceConfig>& sources, const Network& network);

// All sources of a data plane, as an inlet of the segment of the first hop.
class SourceInlet final : public Inlet {
 public:
  SourceInlet(const Network& network, const RouteTable& routes)
      : network_(network), routes_(routes) {}
  ~SourceInlet() override;

  // Worker, once a pass, also when the segment takes no input.
  void Refresh();
  int Receive(Descriptor* burst, int room, Ledger& ledger) override;

  // Control, one thread at a time: publishes new sources, waits until the worker has let go of the
  // old ones and frees those. DeadlineExceeded if the worker did not make a pass within two
  // seconds; the new sources hold all the same.
  absl::Status Replace(const std::vector<SourceConfig>& sources);

 private:
  using Set = std::vector<Source>;

  const Network& network_;
  const RouteTable& routes_;
  std::atomic<Set*> wanted_{nullptr};        // control: writes, worker: acquire loads
  std::atomic<Set*> seen_{nullptr};          // worker: writes, control: acquire loads
  Set* current_ = nullptr;                   // worker only
  size_t turn_ = 0;                          // worker only: source asked first
  std::vector<std::unique_ptr<Set>> owned_;  // control only: the current set, and any not let go of
};

}  // namespace bfly::dataplane
