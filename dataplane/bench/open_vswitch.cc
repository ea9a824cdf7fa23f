// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/open_vswitch.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "dataplane/runtime/elapsed.h"

namespace bfly::dataplane {
namespace {

// Where Debian and Ubuntu keep the switch with DPDK; elsewhere it is the ordinary one, if any.
constexpr const char* kVswitchPrograms[] = {"/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk",
                                            "ovs-vswitchd"};
constexpr const char* kVswitchSchema = "/usr/share/openvswitch/vswitch.ovsschema";
constexpr double kVersionSeconds = 10;
constexpr int kMaskBits = 64;
constexpr double kCacheFillSeconds = 0.5;  // the exact-match cache fills at random

// "Open vSwitch) 3.1.0" and "DPDK 22.11.11" -> "3.1.0, DPDK 22.11.11"; empty without DPDK.
std::string VersionIn(const std::string& text) {
  const size_t dpdk = text.find("\nDPDK ");
  const size_t own = text.find(") ");
  if (dpdk == std::string::npos || own == std::string::npos || own > dpdk) return "";
  const auto line = [&text](size_t from) {
    return text.substr(from, text.find('\n', from) - from);
  };
  return absl::StrCat(line(own + 2), ", ", line(dpdk + 1));
}

}  // namespace

absl::StatusOr<OpenVswitchProgram> FindOpenVswitch(const std::string& program) {
  if (geteuid() != 0) {
    return absl::NotFoundError("only root can give Open vSwitch a network namespace of its own");
  }
  std::vector<std::string> paths = {program};
  if (program.empty()) paths.assign(std::begin(kVswitchPrograms), std::end(kVswitchPrograms));
  const BenchDirectory directory;
  for (const std::string& path : paths) {
    const auto text = RunToEnd({path, "--version"}, directory.path() + "/log", kVersionSeconds);
    if (!text.ok()) continue;
    if (std::string version = VersionIn(*text); !version.empty()) return {{path, version}};
  }
  return absl::NotFoundError(
      program.empty() ? "no ovs-vswitchd with DPDK is installed (Debian: openvswitch-switch-dpdk)"
                      : absl::StrCat(program, " is not an ovs-vswitchd with DPDK"));
}

absl::StatusOr<std::unique_ptr<OpenVswitch>> OpenVswitch::Start(const OpenVswitchOptions& options) {
  for (const int cpu : options.cpus) {
    if (cpu < kMaskBits) continue;
    return absl::UnavailableError(absl::StrCat("Open vSwitch is given its CPUs by a mask of ",
                                               kMaskBits, " bits, and CPU ", cpu,
                                               " is not in it; take other CPUs with taskset"));
  }
  std::unique_ptr<OpenVswitch> it(new OpenVswitch(options));
  absl::Status status = it->StartDatabase();
  if (status.ok()) status = it->StartSwitch();
  if (status.ok()) status = it->AddBridge();
  if (status.ok()) status = it->AddDevices();
  if (!status.ok()) return status;
  return it;
}

absl::StatusOr<std::string> OpenVswitch::Run(std::vector<std::string> words) const {
  // The programs look for each other's sockets where this variable says.
  words.insert(words.begin(), {"env", absl::StrCat("OVS_RUNDIR=", directory_.path())});
  return RunToEnd(words, File("command.log"), options_.patience_seconds);
}

absl::Status OpenVswitch::Vsctl(const std::vector<std::string>& words) const {
  std::vector<std::string> all = {"ovs-vsctl", "--db=unix:" + File("db.sock"),
                                  absl::StrCat("--timeout=", std::ceil(options_.patience_seconds))};
  all.insert(all.end(), words.begin(), words.end());
  absl::Status status = Run(std::move(all)).status();
  if (status.ok() || switch_ == nullptr) return status;
  return absl::UnavailableError(
      absl::StrCat(status.message(), "; ovs-vswitchd printed last: ", switch_->LogTail()));
}

absl::Status OpenVswitch::StartDatabase() {
  if (auto made = Run({"ovsdb-tool", "create", File("conf.db"), kVswitchSchema}); !made.ok()) {
    return made.status();
  }
  auto process = BenchProcess::Execute(
      File("database.log"), {"ovsdb-server", File("conf.db"), "--remote=punix:" + File("db.sock"),
                             "--unixctl=" + File("db.ctl")});
  if (!process.ok()) return process.status();
  database_ = *std::move(process);
  // ovs-vsctl waits until the database answers.
  const std::string dpdk_words = absl::StrCat("--no-huge --legacy-mem -m ", options_.memory_mb,
                                              " --no-pci --no-telemetry --no-shconf");
  uint64_t cpus = 0;
  for (const int cpu : options_.cpus) cpus |= uint64_t{1} << cpu;
  return Vsctl({"--no-wait", "--retry", "--", "init", "--", "set", "Open_vSwitch", ".",
                "other_config:dpdk-init=true",
                absl::StrFormat("other_config:pmd-cpu-mask=0x%x", cpus),
                absl::StrCat("other_config:dpdk-extra=\"", dpdk_words, "\"")});
}

absl::Status OpenVswitch::StartSwitch() {
  auto process = BenchProcess::Execute(
      File("switch.log"),
      {"unshare", "--net", "env", "OVS_RUNDIR=" + directory_.path(), options_.program,
       "unix:" + File("db.sock"), "--unixctl=" + File("switch.ctl")});
  if (!process.ok()) return process.status();
  switch_ = *std::move(process);
  return absl::OkStatus();
}

absl::Status OpenVswitch::AddBridge() {
  const absl::Status status = Vsctl({"add-br", "bench", "--", "set", "bridge", "bench",
                                     "datapath_type=netdev", "fail-mode=secure"});
  if (!status.ok()) return status;
  // The flows come before the devices, so no frame meets an empty table.
  std::ofstream flows(File("flows"));
  const size_t first_output = options_.inputs.size() + 1;
  for (const Row row : options_.targets) {
    flows << absl::StrFormat("dl_dst=02:bf:00:%02x:%02x:%02x,actions=output:%d\n", row >> 16 & 255,
                             row >> 8 & 255, row & 255,
                             first_output + row % options_.outputs.size());
  }
  flows.close();
  return Run({"ovs-ofctl", "-O", "OpenFlow14", "add-flows", "unix:" + File("bench.mgmt"),
              File("flows")})
      .status();
}

absl::Status OpenVswitch::AddDevices() {
  std::vector<std::string> devices = options_.outputs;
  devices.insert(devices.begin(), options_.inputs.begin(), options_.inputs.end());
  std::vector<std::string> words;
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string name = absl::StrCat("p", i + 1);
    words.insert(words.end(), {"--", "add-port", "bench", name, "--", "set", "interface", name,
                               "type=dpdk", absl::StrCat("ofport_request=", i + 1),
                               absl::StrCat("options:dpdk-devargs=\"", devices[i], "\"")});
  }
  return Vsctl(words);
}

absl::Status OpenVswitch::UseExactMatchCache(bool use) {
  return Vsctl(
      {"set", "Open_vSwitch", ".",
       use ? "other_config:emc-insert-inv-prob=100" : "other_config:emc-insert-inv-prob=0"});
}

absl::StatusOr<uint64_t> OpenVswitch::Sent() const {
  const auto text = Run({"ovs-appctl", "-t", File("switch.ctl"), "dpctl/show", "--statistics"});
  if (!text.ok()) return text.status();
  uint64_t sum = 0;
  const std::vector<std::string> parts = absl::StrSplit(*text, "TX packets:");
  for (size_t i = 1; i < parts.size(); ++i) {
    uint64_t packets = 0;
    if (!absl::SimpleAtoi(parts[i].substr(0, parts[i].find(' ')), &packets)) {
      return absl::UnavailableError(absl::StrCat(
          "ovs-appctl dpctl/show: no number of packets in \"", parts[i].substr(0, 40), "\""));
    }
    sum += packets;
  }
  return sum;
}

absl::StatusOr<double> OpenVswitch::SentPerSecond(double seconds) {
  PauseFor(kCacheFillSeconds);
  const auto before = Sent();
  const auto start = std::chrono::steady_clock::now();
  if (!before.ok()) return before.status();
  PauseFor(seconds);
  const auto after = Sent();
  const double took = SecondsSince(start);
  if (!after.ok()) return after.status();
  if (*after > *before) return static_cast<double>(*after - *before) / took;
  return absl::UnavailableError(absl::StrCat("ovs-vswitchd forwarded nothing in ", seconds,
                                             " s; it printed last: ", switch_->LogTail()));
}

}  // namespace bfly::dataplane
