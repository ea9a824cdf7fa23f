// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "absl/strings/str_cat.h"
#include "control/lab/interfaces.h"
#include "control/lab/lab.h"

namespace bfly::control {
namespace {

class MachineCheck {
 public:
  std::vector<Violation> Check(const LabPlan& plan) {
    for (const PlannedNamespace& wanted : plan.namespaces) {
      if (!wanted.may_be_used && NameIsTaken(wanted.name)) {
        Report(wanted.field, wanted.name,
               absl::StrCat("network namespace ", wanted.name,
                            " is there already and not this lab's (name the lab otherwise with "
                            "--name, or remove the namespace if it is yours)"));
      }
    }
    for (const NeededInterface& needed : plan.needed) {
      const auto found = Find(needed.where, needed.interface, needed.field);
      if (!found) continue;
      if (!found->has_value()) {
        Report(
            needed.field, needed.interface,
            absl::StrCat("there is no interface ", needed.interface, " in ", needed.where.text()));
      } else if (!(*found)->up) {
        Report(needed.field, needed.interface,
               absl::StrCat("interface ", needed.interface, " in ", needed.where.text(),
                            " is down, and the lab does not change interfaces that it did not make "
                            "(set it up first: ip link set ",
                            needed.interface, " up)"));
      }
    }
    for (const PlannedLink& link : plan.links) CheckLink(link);
    return std::move(violations_);
  }

 private:
  void Report(const std::string& field, const std::string& value, std::string message) {
    violations_.push_back({field, value, std::move(message)});
  }

  using Found = std::optional<Interfaces::Found>;

  // The interface, if the namespace has one of this name. Nothing if that cannot be told.
  std::optional<Found> Find(const NamespaceRef& where, const std::string& interface,
                            const std::string& field) {
    const absl::StatusOr<NetNamespace> there = NetNamespace::Open(where);
    if (absl::IsNotFound(there.status())) return Found();
    const auto found = there.ok() ? FindIn(*there, interface) : there.status();
    if (found.ok()) return *found;
    Report(field, interface, std::string(found.status().message()));
    return std::nullopt;
  }

  void RefuseTaken(const NamespaceRef& where, const std::string& interface,
                   const std::string& field) {
    if (Find(where, interface, field).value_or(Found()).has_value()) {
      Report(field, interface,
             absl::StrCat("interface ", interface, " is there already in ", where.text(),
                          " and not this lab's (choose another name)"));
    }
  }

  void CheckLink(const PlannedLink& link) {
    RefuseTaken(link.port_namespace, link.port_interface, link.field + ".port_interface");
    if (link.host_namespace.kind != NamespaceRef::Kind::kProcess) return;
    const std::string pid = absl::StrCat(link.host_namespace.pid);
    const absl::StatusOr<NetNamespace> there = NetNamespace::Open(link.host_namespace);
    if (!there.ok()) {
      return Report(
          link.field + ".pid", pid,
          absl::StrCat("cannot open ", there.status().message(), " (does the process run?)"));
    }
    const absl::StatusOr<NetNamespace> own = NetNamespace::Open({});
    if (own.ok() && own->cookie() == there->cookie()) {
      return Report(link.field + ".pid", pid,
                    absl::StrCat("process ", pid,
                                 " has no network namespace of its own: this machine itself would "
                                 "get the interface"));
    }
    RefuseTaken(link.host_namespace, link.host_interface, link.field + ".interface");
  }

  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> CheckMachine(const LabPlan& plan) { return MachineCheck().Check(plan); }

}  // namespace bfly::control
