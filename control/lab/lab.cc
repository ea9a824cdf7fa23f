// SPDX-License-Identifier: Apache-2.0
#include "control/lab/lab.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/lab/device_features.h"
#include "control/lab/interfaces.h"

namespace bfly::control {
namespace {

// What a veth hands over beside the frame and a port by AF_XDP does not see: VLAN tags, and
// checksums of SCTP that nobody has computed.
constexpr std::string_view kLostByXdp[] = {"tx-vlan-hw-insert", "tx-vlan-stag-hw-insert",
                                           "tx-checksum-sctp"};

template <size_t kBytes>
absl::StatusOr<std::array<uint8_t, kBytes>> Draw() {
  std::array<uint8_t, kBytes> bytes{};
  if (getrandom(bytes.data(), kBytes, 0) != static_cast<ssize_t>(kBytes)) {
    return absl::ErrnoToStatus(errno, "cannot draw a random number");
  }
  return bytes;
}

// An address that only one interface has: locally administered, and not of the form of a row.
absl::StatusOr<std::string> DrawMac() {
  const auto bytes = Draw<5>();
  if (!bytes.ok()) return bytes.status();
  std::string mac = "06";
  for (const uint8_t byte : *bytes) absl::StrAppendFormat(&mac, ":%02x", byte);
  return mac;
}

absl::StatusOr<std::string> DrawMark() {
  const auto bytes = Draw<16>();
  if (!bytes.ok()) return bytes.status();
  std::string mark = "bfly lab ";
  for (const uint8_t byte : *bytes) absl::StrAppendFormat(&mark, "%02x", byte);
  return mark + "\n";
}

// Empty: it cannot be read.
std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

absl::Status At(const std::string& what, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(what, ": ", status.message()));
}

class Making {
 public:
  Making(const LabPlan& plan, const LabRecord& record, LabJournal& journal,
         const BetweenEffects& between)
      : plan_(plan), record_(record), journal_(journal), between_(between) {}

  absl::Status All() {
    absl::Status status = PrepareNames();
    for (const PlannedNamespace& wanted : plan_.namespaces) {
      if (status.ok()) status = Make(wanted);
    }
    for (const PlannedLink& link : plan_.links) {
      if (status.ok()) status = At(link.field, Make(link));
    }
    return status;
  }

 private:
  absl::Status Make(const PlannedNamespace& wanted) {
    if (wanted.may_be_used && NameIsTaken(wanted.name)) {
      return NetNamespace::Open(NamespaceRef::Named(wanted.name)).status();
    }
    const absl::StatusOr<NetNamespace> made = NetNamespace::Make();
    if (!made.ok()) return made.status();
    absl::Status status = journal_.Append(LineOf(MadeNamespace{wanted.name, made->cookie()}));
    between_();
    if (status.ok()) status = NameNamespace(*made, wanted.name, record_.mark, between_);
    if (!status.ok()) return status;
    absl::StatusOr<Interfaces> interfaces = Interfaces::Of(*made);
    if (!interfaces.ok()) return interfaces.status();
    const auto loopback = interfaces->Find("lo");
    if (!loopback.ok() || !*loopback) return loopback.status();
    return interfaces->SetUp((*loopback)->index);
  }

  absl::Status Make(const PlannedLink& link) {
    const absl::StatusOr<NetNamespace> fabric = NetNamespace::Open(link.port_namespace);
    if (!fabric.ok()) return fabric.status();
    const absl::StatusOr<NetNamespace> host = NetNamespace::Open(link.host_namespace);
    if (!host.ok()) return host.status();
    const absl::StatusOr<std::string> mac = DrawMac();
    if (!mac.ok()) return mac.status();
    absl::StatusOr<Interfaces> interfaces = Interfaces::Of(*fabric);
    if (!interfaces.ok()) return interfaces.status();
    const MadeLink made{
        .port = {link.port_namespace, fabric->cookie(), link.port_interface, *mac},
        .host = {link.host_namespace, host->cookie(), link.host_interface, link.host_mac}};
    absl::Status status = journal_.Append(LineOf(made));
    between_();
    if (status.ok()) {
      status =
          interfaces->MakeVeth({link.port_interface, *mac}, {link.host_interface, link.host_mac},
                               *host, link.mtu, link.queues);
    }
    between_();
    if (status.ok()) status = SwitchIpv6Off(*fabric, link.port_interface);
    if (status.ok()) status = SetUp(*interfaces, link.port_interface);
    return status.ok() ? Configure(link, *host) : status;
  }

  static absl::Status SetUp(Interfaces& interfaces, const std::string& interface) {
    const auto found = interfaces.Find(interface);
    if (!found.ok()) return found.status();
    if (!*found) return absl::NotFoundError(absl::StrCat("interface ", interface, " is gone"));
    return interfaces.SetUp((*found)->index);
  }

  absl::Status Configure(const PlannedLink& link, const NetNamespace& host) {
    absl::StatusOr<Interfaces> interfaces = Interfaces::Of(host);
    if (!interfaces.ok()) return interfaces.status();
    const auto found = interfaces->Find(link.host_interface);
    if (!found.ok()) return found.status();
    if (!*found) return absl::NotFoundError("interface " + link.host_interface + " is gone");
    const int index = (*found)->index;
    absl::Status status;
    if (!link.ipv6) status = SwitchIpv6Off(host, link.host_interface);
    if (status.ok()) status = SwitchFeaturesOff(host, link.host_interface, kLostByXdp);
    if (status.ok()) status = interfaces->SetUp(index);
    for (const std::string& address : link.addresses) {
      between_();
      if (status.ok()) status = interfaces->AddAddress(index, address);
    }
    for (const PlannedRoute& route : link.routes) {
      between_();
      if (status.ok()) status = interfaces->AddRoute(index, route.to, route.via);
    }
    between_();
    return status;
  }

  const LabPlan& plan_;
  const LabRecord& record_;
  LabJournal& journal_;
  const BetweenEffects& between_;
};

// Returns true if the end was there, so that the pair was removed.
absl::StatusOr<bool> RemoveBy(const LinkEnd& end) {
  const absl::StatusOr<NetNamespace> where = NetNamespace::Open(end.where);
  if (IsGone(where.status())) return false;
  if (!where.ok()) return where.status();
  // Another namespace may have its name by now, or the number of its process.
  if (where->cookie() != end.cookie) return false;
  absl::StatusOr<Interfaces> interfaces = Interfaces::Of(*where);
  if (!interfaces.ok()) return interfaces.status();
  const auto found = interfaces->Find(end.interface);
  if (!found.ok()) return found.status();
  if (!*found || (*found)->mac != end.mac) return false;
  const absl::Status removed = interfaces->Remove((*found)->index);
  if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  return true;
}

absl::StatusOr<bool> RemoveLink(const MadeLink& link, const LabRecord& record) {
  absl::StatusOr<bool> removed = RemoveBy(link.port);
  if (!removed.ok() || *removed) return removed;
  const bool own_namespace =
      std::any_of(record.namespaces.begin(), record.namespaces.end(),
                  [&link](const MadeNamespace& made) { return made.cookie == link.host.cookie; });
  // Another lab may have given a container an interface of this name and address. In a namespace of
  // this lab nobody else does.
  if (own_namespace) return RemoveBy(link.host);
  if (link.port.where.kind != NamespaceRef::Kind::kCaller) return false;
  const absl::StatusOr<NetNamespace> here = NetNamespace::Open({});
  if (!here.ok()) return here.status();
  if (here->cookie() == link.port.cookie) return false;
  return absl::FailedPreconditionError(
      absl::StrCat("interface ", link.port.interface,
                   " was made in another network namespace than this one; run `bfly lab down` "
                   "where `bfly lab up` ran"));
}

}  // namespace

absl::StatusOr<LabJournal> MakeLab(const LabPlan& plan, const std::string& run_dir,
                                   const BetweenEffects& between) {
  if (absl::Status seen = NamesAreSeenByOthers(); !seen.ok()) return seen;
  const absl::StatusOr<std::string> mark = DrawMark();
  if (!mark.ok()) return mark.status();
  LabRecord record;
  record.name = plan.name;
  record.boot = BootId();
  if (record.boot.empty()) return absl::InternalError("cannot read the number of this boot");
  record.mark = *mark;
  record.hosts = plan.hosts;
  for (const NeededInterface& needed : plan.needed) {
    const absl::StatusOr<NetNamespace> where = NetNamespace::Open(needed.where);
    if (!where.ok()) return At(needed.field, where.status());
    record.used.push_back({needed.where, where->cookie(), needed.interface});
  }
  absl::StatusOr<LabJournal> journal = LabJournal::Create(run_dir, record);
  if (!journal.ok()) return journal.status();
  between();
  const absl::Status made = Making(plan, record, *journal, between).All();
  if (!made.ok()) return made;
  return journal;
}

bool IsOfAnotherBoot(const LabRecord& record) {
  const std::string now = BootId();
  return !now.empty() && now != record.boot;
}

Removal RemoveLab(const LabRecord& record) {
  Removal removal;
  // Interfaces and the numbers of namespaces do not outlive a boot.
  const bool same_boot = !IsOfAnotherBoot(record);
  for (auto link = record.links.rbegin(); same_boot && link != record.links.rend(); ++link) {
    const absl::StatusOr<bool> removed = RemoveLink(*link, record);
    if (!removed.ok()) removal.errors.emplace_back(removed.status().message());
    if (removed.ok() && *removed) ++removal.links;
  }
  for (auto made = record.namespaces.rbegin(); made != record.namespaces.rend(); ++made) {
    const auto removed = RemoveName(made->name, same_boot ? made->cookie : 0, record.mark);
    if (!removed.ok()) removal.errors.emplace_back(removed.status().message());
    if (removed.ok() && *removed) ++removal.namespaces;
  }
  return removal;
}

namespace {

// Opens the namespace of an interface that was there before. NotFound: it is gone.
// FailedPrecondition: this process is in another namespace than the one in which the lab was made.
absl::StatusOr<NetNamespace> NamespaceOf(const UsedInterface& used, const LabRecord& record) {
  absl::StatusOr<NetNamespace> there = NetNamespace::Open(used.where);
  if (!there.ok() && !IsGone(there.status())) return there.status();
  if (there.ok() && !IsOfAnotherBoot(record) && there->cookie() == used.cookie) return there;
  if (used.where.kind == NamespaceRef::Kind::kCaller && !IsOfAnotherBoot(record)) {
    return absl::FailedPreconditionError("the lab was made in another network namespace");
  }
  return absl::NotFoundError(absl::StrCat(used.where.text(), " is gone"));
}

}  // namespace

absl::StatusOr<NetNamespace> NamespaceOf(const LabHost& host, const LabRecord& record) {
  if (!host.has_namespace) {
    return absl::NotFoundError(
        absl::StrCat("host ", host.name, " is of kind ", host.kind,
                     ", so there is no namespace in which bfly could run a command"));
  }
  const auto link =
      std::find_if(record.links.begin(), record.links.end(), [&host](const MadeLink& made) {
        return made.host.where == host.where && made.host.interface == host.interface;
      });
  absl::StatusOr<NetNamespace> there = NetNamespace::Open(host.where);
  if (!there.ok() && !IsGone(there.status())) return there.status();
  const bool same = link != record.links.end() && there.ok() && !IsOfAnotherBoot(record) &&
                    there->cookie() == link->host.cookie;
  if (same) return there;
  return absl::NotFoundError(
      absl::StrCat(host.where.text(), " of host ", host.name,
                   " is gone; `bfly lab down` removes what is left, `bfly lab up` makes it anew"));
}

std::string StateOf(const LabHost& host, const LabRecord& record) {
  const auto used =
      std::find_if(record.used.begin(), record.used.end(),
                   [&host](const UsedInterface& one) { return one.interface == host.port; });
  const bool is_used = !host.has_namespace && used != record.used.end();
  if (!host.has_namespace && !is_used) return "";
  const absl::StatusOr<NetNamespace> there =
      is_used ? NamespaceOf(*used, record) : NamespaceOf(host, record);
  if (absl::IsPermissionDenied(there.status())) return "not known without sudo";
  if (absl::IsNotFound(there.status())) return "gone";
  if (!there.ok()) return "not known";
  const auto found = FindIn(*there, is_used ? host.port : host.interface);
  if (!found.ok()) return "not known";
  if (!*found) return "gone";
  return (*found)->up ? "up" : "down";
}

}  // namespace bfly::control
