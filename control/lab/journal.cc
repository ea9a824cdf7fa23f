// SPDX-License-Identifier: Apache-2.0
#include "control/lab/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

json ToValue(const NamespaceRef& where) {
  switch (where.kind) {
    case NamespaceRef::Kind::kNamed:
      return {{"name", where.name}};
    case NamespaceRef::Kind::kProcess:
      return {{"pid", where.pid}};
    case NamespaceRef::Kind::kCaller:
      break;
  }
  return json::object();
}

NamespaceRef RefOf(const json& value) {
  if (value.contains("name")) return NamespaceRef::Named(value.at("name").get<std::string>());
  if (value.contains("pid")) return NamespaceRef::OfProcess(value.at("pid").get<pid_t>());
  return {};
}

json ToValue(const LinkEnd& end) {
  return {{"namespace", ToValue(end.where)},
          {"cookie", end.cookie},
          {"interface", end.interface},
          {"mac", end.mac}};
}

LinkEnd EndOf(const json& value) {
  return {.where = RefOf(value.at("namespace")),
          .cookie = value.at("cookie").get<uint64_t>(),
          .interface = value.at("interface").get<std::string>(),
          .mac = value.at("mac").get<std::string>()};
}

json ToValue(const LabHost& host) {
  json value = {{"name", host.name}, {"kind", host.kind},           {"rows", host.rows},
                {"port", host.port}, {"addresses", host.addresses}, {"interface", host.interface}};
  if (host.has_namespace) value["namespace"] = ToValue(host.where);
  return value;
}

LabHost HostOf(const json& value) {
  LabHost host{.name = value.at("name").get<std::string>(),
               .kind = value.at("kind").get<std::string>(),
               .rows = value.at("rows").get<std::string>(),
               .has_namespace = value.contains("namespace"),
               .where = {},
               .interface = value.at("interface").get<std::string>(),
               .port = value.at("port").get<std::string>(),
               .addresses = value.at("addresses").get<std::vector<std::string>>()};
  if (host.has_namespace) host.where = RefOf(value.at("namespace"));
  return host;
}

json ToValue(const UsedInterface& used) {
  return {
      {"namespace", ToValue(used.where)}, {"cookie", used.cookie}, {"interface", used.interface}};
}

UsedInterface UsedOf(const json& value) {
  return {.where = RefOf(value.at("namespace")),
          .cookie = value.at("cookie").get<uint64_t>(),
          .interface = value.at("interface").get<std::string>()};
}

std::string Line(const json& value) { return value.dump() + "\n"; }

// Throws json::exception for a value of another form.
void ReadHead(const json& value, LabRecord* record) {
  record->name = value.at("name").get<std::string>();
  record->boot = value.at("boot").get<std::string>();
  record->mark = value.at("mark").get<std::string>();
  for (const json& host : value.at("hosts")) record->hosts.push_back(HostOf(host));
  if (!value.contains("used")) return;  // a journal of 0.1.0
  for (const json& used : value.at("used")) record->used.push_back(UsedOf(used));
}

void ReadMade(const json& value, LabRecord* record) {
  if (value.contains("namespace")) {
    record->namespaces.push_back(
        {value.at("namespace").get<std::string>(), value.at("cookie").get<uint64_t>()});
  } else if (value.contains("port")) {
    record->links.push_back({EndOf(value.at("port")), EndOf(value.at("host"))});
  } else {
    record->up = value.at("up").get<bool>();
  }
}

}  // namespace

std::string HeadLine(const LabRecord& record) {
  json hosts = json::array();
  for (const LabHost& host : record.hosts) hosts.push_back(ToValue(host));
  json used = json::array();
  for (const UsedInterface& one : record.used) used.push_back(ToValue(one));
  return Line({{"bfly_lab", kVersion},
               {"name", record.name},
               {"boot", record.boot},
               {"mark", record.mark},
               {"hosts", hosts},
               {"used", used}});
}

std::string LineOf(const MadeNamespace& made) {
  return Line({{"namespace", made.name}, {"cookie", made.cookie}});
}

std::string LineOf(const MadeLink& made) {
  return Line({{"port", ToValue(made.port)}, {"host", ToValue(made.host)}});
}

std::string UpLine() { return Line({{"up", true}}); }

absl::StatusOr<LabRecord> ParseJournal(absl::string_view text) {
  LabRecord record;
  int number = 0;
  for (size_t end; (end = text.find('\n')) != absl::string_view::npos;
       text.remove_prefix(end + 1)) {
    ++number;
    try {
      const json value = json::parse(text.begin(), text.begin() + end);
      if (number == 1) {
        if (const int version = value.at("bfly_lab").get<int>(); version != kVersion) {
          return absl::DataLossError(absl::StrCat("line 1 is of version ", version,
                                                  ", this bfly reads version ", kVersion));
        }
        ReadHead(value, &record);
      } else {
        ReadMade(value, &record);
      }
    } catch (const json::exception& error) {
      return absl::DataLossError(absl::StrCat("line ", number, " is damaged: ", error.what()));
    }
  }
  if (number == 0) return absl::NotFoundError("the journal has no line");
  return record;
}

absl::StatusOr<LabJournal> LabJournal::Create(const std::string& run_dir, const LabRecord& record) {
  const std::string path = PathIn(run_dir);
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, "cannot write " + path);
  LabJournal journal(descriptor);
  if (absl::Status status = journal.Append(HeadLine(record)); !status.ok()) {
    unlink(path.c_str());
    return status;
  }
  // The name of the file must last as long as its lines.
  const int directory = open(run_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    fsync(directory);
    close(directory);
  }
  return journal;
}

absl::StatusOr<LabRecord> LabJournal::Read(const std::string& run_dir) {
  const std::string path = PathIn(run_dir);
  std::ifstream file(path, std::ios::binary);
  if (!file && errno != ENOENT && errno != ENOTDIR) {
    return absl::ErrnoToStatus(errno, "cannot read " + path);
  }
  if (!file) return absl::NotFoundError("no lab in " + run_dir);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  absl::StatusOr<LabRecord> record = ParseJournal(text);
  if (!record.ok() && !absl::IsNotFound(record.status())) {
    return absl::Status(record.status().code(),
                        absl::StrCat(path, ": ", record.status().message()));
  }
  return record;
}

absl::Status LabJournal::Remove(const std::string& run_dir) {
  const std::string path = PathIn(run_dir);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "cannot remove " + path);
}

LabJournal::~LabJournal() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status LabJournal::Append(const std::string& line) {
  for (size_t written = 0; written < line.size();) {
    const ssize_t count = write(descriptor_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, "cannot write the journal of the lab");
    written += static_cast<size_t>(count);
  }
  if (fdatasync(descriptor_) != 0) {
    return absl::ErrnoToStatus(errno, "cannot write the journal of the lab to the disk");
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
