// SPDX-License-Identifier: Apache-2.0
// Open vSwitch with DPDK as a yardstick of the closed bench: a switch that looks at the destination
// of every frame, as a fabric does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/bench/bench_frames.h"
#include "dataplane/bench/bench_processes.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct OpenVswitchProgram {
  std::string path;
  std::string version;  // "3.1.0, DPDK 22.11.11"
};

// Finds the ovs-vswitchd with DPDK: `program`, or the one that is installed if `program` is empty.
// NotFound says why there is none that the bench can use.
absl::StatusOr<OpenVswitchProgram> FindOpenVswitch(const std::string& program);

struct OpenVswitchOptions {
  std::string program;
  std::vector<std::string> inputs = {};  // devices that frames come from
  // Devices that frames go to, by destination in turn. At least two: Open vSwitch does not look at
  // the destination if all flows have one output.
  std::vector<std::string> outputs = {};
  std::vector<Row> targets = {};  // destination rows; each gets a flow
  std::vector<int> cpus = {};     // of the forwarding threads, below 64
  int memory_mb = 512;
  double patience_seconds = 30;  // for the start of each program, and for each answer
};

// It has a database, sockets, a bridge and a network namespace of its own, so it meets no other
// Open vSwitch on the machine. Only root can make the namespace.
class OpenVswitch {
 public:
  // Returns when the flows are installed and the devices attached. Unavailable: a program ended or
  // did not answer in time; the error quotes what it printed last.
  static absl::StatusOr<std::unique_ptr<OpenVswitch>> Start(const OpenVswitchOptions& options);

  // Open vSwitch keeps the exact headers of up to 8,192 flows in a cache, unless told not to. A
  // frame that is not found there is looked up by its destination.
  absl::Status UseExactMatchCache(bool use);

  // Returns the frames a second that leave by all devices.
  absl::StatusOr<double> SentPerSecond(double seconds);

  pid_t pid() const { return switch_->pid(); }

 private:
  explicit OpenVswitch(const OpenVswitchOptions& options) : options_(options) {}
  absl::Status StartDatabase();
  absl::Status StartSwitch();
  absl::Status AddBridge();
  absl::Status AddDevices();
  absl::Status Vsctl(const std::vector<std::string>& words) const;
  absl::StatusOr<uint64_t> Sent() const;
  // Runs a program to its end, and returns what it printed.
  absl::StatusOr<std::string> Run(std::vector<std::string> words) const;
  std::string File(const char* name) const { return directory_.path() + "/" + name; }

  const OpenVswitchOptions options_;
  BenchDirectory directory_;
  std::unique_ptr<BenchProcess> database_;
  std::unique_ptr<BenchProcess> switch_;
};

}  // namespace bfly::dataplane
