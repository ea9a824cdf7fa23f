// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/device_policy.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "dataplane/ports/pci_device.h"

namespace bfly::dataplane {
namespace {

struct Driver {
  const char* name;
  std::vector<absl::string_view> files;  // arguments whose value is a path of a file or socket
  std::vector<absl::string_view> others;
};

// The software drivers of DPDK 22.11 that make an ethernet port of something outside DPDK, with the
// arguments that they document. net_ring has one more argument, an address in memory, which is left
// out.
const std::vector<Driver>& Drivers() {
  static const std::vector<Driver> drivers = {
      {"net_af_packet", {}, {"iface", "qpairs", "blocksz", "framesz", "framecnt", "qdisc_bypass"}},
      {"net_af_xdp",
       {"xdp_prog"},
       {"iface", "start_queue", "queue_count", "shared_umem", "busy_budget", "force_copy"}},
      {"net_memif",
       {"socket"},
       {"id", "role", "bsize", "rsize", "socket-abstract", "mac", "zero-copy", "secret"}},
      {"net_null", {}, {"size", "copy", "no-rx"}},
      {"net_pcap",
       {"rx_pcap", "tx_pcap"},
       {"rx_iface", "rx_iface_in", "tx_iface", "iface", "phy_mac", "infinite_rx"}},
      {"net_ring", {}, {}},
      {"net_tap", {}, {"iface", "mac", "remote"}},
      {"net_vhost",
       {"iface"},
       {"queues", "client", "iommu-support", "postcopy-support", "tso", "linear-buffer",
        "ext-buffer"}},
      {"net_virtio_user",
       {"path"},
       {"mac", "cq", "queue_size", "queues", "iface", "server", "mrg_rxbuf", "in_order",
        "packed_vq", "speed", "vectorized"}},
      {"virtio_user",
       {"path"},
       {"mac", "cq", "queue_size", "queues", "iface", "server", "mrg_rxbuf", "in_order",
        "packed_vq", "speed", "vectorized"}},
  };
  return drivers;
}

using Argument = std::pair<absl::string_view, absl::string_view>;

absl::string_view NameOf(absl::string_view device) { return device.substr(0, device.find(',')); }

std::vector<Argument> ArgumentsOf(absl::string_view device) {
  std::vector<Argument> arguments;
  const std::vector<absl::string_view> parts = absl::StrSplit(device, ',');
  for (size_t i = 1; i < parts.size(); ++i) {
    if (!parts[i].empty()) arguments.push_back(absl::StrSplit(parts[i], absl::MaxSplits('=', 1)));
  }
  return arguments;
}

// The driver of "net_memif", "net_memif0" or "net_memif_left".
const Driver* DriverOf(absl::string_view device) {
  for (const Driver& driver : Drivers()) {
    absl::string_view rest = NameOf(device);
    if (!absl::ConsumePrefix(&rest, driver.name)) continue;
    if (std::all_of(rest.begin(), rest.end(),
                    [](char c) { return absl::ascii_isalnum(c) || c == '_'; })) {
      return &driver;
    }
  }
  return nullptr;
}

bool Has(const std::vector<absl::string_view>& keys, absl::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::string AllArguments(const Driver& driver) {
  std::vector<absl::string_view> all = driver.files;
  all.insert(all.end(), driver.others.begin(), driver.others.end());
  return all.empty() ? "none" : absl::StrJoin(all, ", ");
}

std::string DriverNames() {
  return absl::StrJoin(Drivers(), ", ", [](std::string* out, const Driver& driver) {
    absl::StrAppend(out, driver.name);
  });
}

// The path with its links resolved, as far as it exists.
std::string Canonical(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(absolute, error);
  return (error ? absolute.lexically_normal() : canonical).string();
}

// Users that may write to a directory may put links there between the check and the driver's open.
bool OthersMayWrite(const struct stat& directory) {
  const bool group = directory.st_gid != 0 && directory.st_gid != getegid();
  return (directory.st_mode & S_IWOTH) != 0 || (group && (directory.st_mode & S_IWGRP) != 0);
}

// Whether another user may replace `link`, which is in `directory`, by another one.
bool OthersMayReplace(const struct stat& link, const struct stat& directory) {
  for (const uid_t owner : {link.st_uid, directory.st_uid}) {
    if (owner != 0 && owner != geteuid()) return true;
  }
  return OthersMayWrite(directory) && (directory.st_mode & S_ISVTX) == 0;
}

void PushParts(const std::string& path, std::vector<std::string>& ahead) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
  ahead.insert(ahead.end(), parts.rbegin(), parts.rend());
}

constexpr int kMostLinks = 40;  // the kernel follows no more

// Returns the path without links. The file need not exist. InvalidArgument, which says what is
// wrong with the path: its directory does not exist, or another user could have the path lead
// elsewhere before the driver opens it. Then the result would not be the file that the driver gets.
absl::StatusOr<std::string> PathToOpen(const std::string& path) {
  const auto refused = [](const auto&... why) {
    return absl::InvalidArgumentError(absl::StrCat(why...));
  };
  std::error_code error;
  std::vector<std::string> ahead;  // the parts of the path, the next one at the end
  PushParts(std::filesystem::absolute(path, error).string(), ahead);
  // A directory before ".." could become a link, and ".." would lead elsewhere.
  if (std::find(ahead.begin(), ahead.end(), "..") != ahead.end()) {
    return refused(" has a \"..\"; name the file without it");
  }
  std::string at;  // the way so far, without links
  bool file_is_link = false;
  for (int links = 0; !ahead.empty();) {
    const std::string part = std::move(ahead.back());
    ahead.pop_back();
    if (part == ".") continue;
    if (part == "..") {  // of a link's target
      at.resize(at.empty() ? 0 : at.rfind('/'));
      continue;
    }
    const std::string next = absl::StrCat(at, "/", part);
    struct stat found {};
    if (lstat(next.c_str(), &found) != 0) {
      if (file_is_link) return refused(" is a link to nothing");
      if (errno == ENOENT && ahead.empty()) return next;
      return refused(": ", next, ": ", strerror(errno));
    }
    if (!S_ISLNK(found.st_mode)) {
      at = next;
      continue;
    }
    const std::string target = std::filesystem::read_symlink(next, error).string();
    if (error || ++links > kMostLinks) return refused(" leads through too many links");
    struct stat directory {};
    if (stat(absl::StrCat(at, "/").c_str(), &directory) != 0 ||
        OthersMayReplace(found, directory)) {
      return refused(" leads through the link ", next,
                     ", which other users may change; name the file without the link");
    }
    file_is_link = file_is_link || ahead.empty();
    if (absl::StartsWith(target, "/")) at.clear();
    PushParts(target, ahead);
  }
  return at;
}

constexpr char kHowToAllow[] =
    "start the data plane with --device-dir or --device-file (`bfly up` takes --device-dir too, "
    "and allows the files that its own FILE names)";

}  // namespace

void DevicePolicy::AllowDirectory(const std::string& path) {
  directories_.push_back(Canonical(path));
}

void DevicePolicy::AllowFile(const std::string& path) { files_.push_back(Canonical(path)); }

absl::Status DevicePolicy::CheckFile(const std::string& path) const {
  const auto refused = [&](const auto&... why) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, why..., "; allowed are files in ", absl::StrJoin(directories_, ", "),
                     files_.empty() ? "" : absl::StrCat(", and ", absl::StrJoin(files_, ", ")),
                     "; ", kHowToAllow));
  };
  const absl::StatusOr<std::string> file = PathToOpen(path);
  if (!file.ok()) return refused(file.status().message());
  if (std::find(files_.begin(), files_.end(), *file) != files_.end()) return absl::OkStatus();
  const std::string parent = std::filesystem::path(*file).parent_path().string();
  if (std::find(directories_.begin(), directories_.end(), parent) == directories_.end()) {
    return refused(*file == path ? "" : absl::StrCat(", which is ", *file, ","),
                   " is not a file that devices may name");
  }
  struct stat directory {};
  if (stat(parent.c_str(), &directory) != 0 || OthersMayWrite(directory)) {
    return absl::InvalidArgumentError(
        absl::StrCat("other users may write to ", parent, ", and could have ", path,
                     " lead elsewhere; chmod go-w it, or ", kHowToAllow));
  }
  return absl::OkStatus();
}

absl::Status DevicePolicy::Check(const std::string& field, const std::string& device) const {
  const auto refused = [&field](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", parts...));
  };
  const Driver* driver = DriverOf(device);
  const bool pci = driver == nullptr && !PciDevice(device).empty();
  if (driver == nullptr && !pci) {
    return refused("\"", NameOf(device), "\" is neither a PCI address nor the name of a device of ",
                   DriverNames());
  }
  for (const auto& [key, value] : ArgumentsOf(device)) {
    const bool file = driver != nullptr && Has(driver->files, key);
    if (driver != nullptr && !file && !Has(driver->others, key)) {
      return refused(driver->name, " has no argument \"", key, "\" here; it takes ",
                     AllArguments(*driver));
    }
    // DPDK gives a slash or brackets a special meaning.
    const char* special = file ? "=[]()" : pci ? "=/()" : "=/[]()";
    if (value.empty() || value.find_first_of(special) != absl::string_view::npos) {
      return refused("\"", value, "\" is not a value of ", key);
    }
    if (!file) continue;
    if (absl::Status status = CheckFile(std::string(value)); !status.ok()) {
      return refused(key, ": ", status.message());
    }
  }
  return absl::OkStatus();
}

std::vector<absl::Status> DevicePolicy::Check(const FabricConfig& config) const {
  std::vector<absl::Status> errors;
  const auto add = [&](const std::string& field, const std::string& device) {
    if (device.empty()) return;  // Fabric::Verify reports it
    if (absl::Status status = Check(field, device); !status.ok()) errors.push_back(status);
  };
  for (size_t i = 0; i < config.ports.size(); ++i) {
    add(absl::StrCat("ports[", i, "].device"), config.ports[i].device);
  }
  for (size_t i = 0; i < config.trunks.size(); ++i) {
    add(absl::StrCat("trunks[", i, "].device"), config.trunks[i].device);
  }
  return errors;
}

std::vector<std::string> DeviceFiles(const std::string& device) {
  std::vector<std::string> files;
  const Driver* driver = DriverOf(device);
  if (driver == nullptr) return files;
  for (const auto& [key, value] : ArgumentsOf(device)) {
    if (Has(driver->files, key) && !value.empty()) {
      files.push_back(std::filesystem::absolute(std::string(value)).string());
    }
  }
  return files;
}

std::vector<std::string> DeviceFiles(const FabricConfig& config) {
  std::vector<std::string> files;
  const auto add = [&files](const std::string& device) {
    for (std::string& file : DeviceFiles(device)) files.push_back(std::move(file));
  };
  for (const HostPortConfig& port : config.ports) add(port.device);
  for (const TrunkConfig& trunk : config.trunks) add(trunk.device);
  return files;
}

}  // namespace bfly::dataplane
